"""Ordinary least squares on scikit-learn's diabetes data, with standard errors."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_diabetes

import dispatch_xp


def fit(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return coefficients (the constant first), their standard errors, and R squared."""
    design = np.column_stack([np.ones(len(x)), x])
    coefficients, residuals, rank, _ = np.linalg.lstsq(design, y)
    variance = residuals[0] / (len(y) - rank)
    errors = np.sqrt(variance * np.diag(np.linalg.inv(design.T @ design)))
    total = ((y - y.mean()) ** 2).sum()
    return coefficients, errors, float(1 - residuals[0] / total)


def main() -> float:
    """Fit the model and return R squared."""
    data = load_diabetes()
    with dispatch_xp.backend("auto"):
        coefficients, errors, score = fit(data.data, data.target)
    names = ("constant", *data.feature_names)
    for name, value, error in zip(names, coefficients, errors, strict=True):
        print(f"{name:>8} {value:9.2f} +- {error:.2f}")
    print(f"R squared {score:.4f}")
    return score


if __name__ == "__main__":
    main()
