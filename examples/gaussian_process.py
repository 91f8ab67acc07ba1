"""Predict the progress of diabetes by a Gaussian process, on the data that comes with scikit-learn.

The width of the kernel is the one of the largest marginal likelihood: a Cholesky decomposition for
every width that is tried. Rasmussen & Williams (2006), Gaussian Processes for Machine Learning,
algorithm 2.1.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from sklearn.datasets import load_diabetes

import dispatch_xp

NOISE = 0.5
WIDTHS = np.geomspace(0.05, 2.0, 25)


def kernel(x: np.ndarray, y: np.ndarray, width: float) -> np.ndarray:
    """Return the Gaussian covariance of two sets of points, one per row."""
    squared = (x**2).sum(axis=1)[:, None] + (y**2).sum(axis=1)[None, :] - 2 * x @ y.T
    return np.exp(-np.maximum(squared, 0) / (2 * width**2))


def fit(x: np.ndarray, y: np.ndarray, width: float) -> tuple[np.ndarray, float]:
    """Return the weights of the points, and the logarithm of the marginal likelihood."""
    covariance = kernel(x, x, width) + NOISE * np.eye(len(x))
    factor, lower = scipy.linalg.cho_factor(covariance, lower=True)
    weights = scipy.linalg.cho_solve((factor, lower), y)
    likelihood = -y @ weights / 2 - np.log(np.diag(factor)).sum() - len(y) / 2 * np.log(2 * np.pi)
    return weights, float(likelihood)


def main() -> float:
    """Fit four fifths of the patients, and return R squared for the others."""
    data = load_diabetes()
    order = np.random.default_rng(0).permutation(len(data.data))
    x, y = data.data[order], data.target[order]
    y = (y - y.mean()) / y.std()
    known = len(x) * 4 // 5
    with dispatch_xp.backend("auto"):
        fits = [fit(x[:known], y[:known], width) for width in WIDTHS]
        best = max(range(len(fits)), key=lambda i: fits[i][1])
        predicted = kernel(x[known:], x[:known], WIDTHS[best]) @ fits[best][0]
    residuals = y[known:] - predicted
    score = float(1 - residuals.var() / y[known:].var())
    print(f"width {WIDTHS[best]:.3f}, log likelihood {fits[best][1]:.1f}, R squared {score:.3f}")
    return score


if __name__ == "__main__":
    main()
