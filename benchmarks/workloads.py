"""Programs as people write them, on data that comes with scikit-learn: nothing in them knows of us.

Each returns a number that depends on all its steps.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import scipy.fft
import scipy.linalg

__all__ = ["WORKLOADS"]


@cache
def _digits() -> tuple[Any, Any]:
    from sklearn.datasets import load_digits

    return load_digits(return_X_y=True)


@cache
def _photograph() -> Any:
    from sklearn.datasets import load_sample_image

    return load_sample_image("china.jpg")


def algebra() -> float:
    """Gaussian processes of several widths on digits, then their principal axes."""
    x, labels = _digits()
    x, y = x[:800] / 16, labels[:800].astype(float)
    squared = (x**2).sum(axis=1)
    distances = np.maximum(squared[:, None] + squared[None, :] - 2 * x @ x.T, 0.0)
    evidences = []
    for width in (0.8, 1.6, 3.2):
        kernel = np.exp(-distances / (2 * width**2))
        kernel += 0.1 * np.eye(len(x))
        factor = scipy.linalg.cho_factor(kernel, lower=True)
        weights = scipy.linalg.cho_solve(factor, y)
        log_determinant = 2 * np.log(np.diag(factor[0])).sum()
        evidences.append(-0.5 * (y @ weights + log_determinant))
    values, vectors = np.linalg.eigh(kernel)
    embedding = vectors[:, -20:] * np.sqrt(values[-20:])
    coefficients = np.linalg.lstsq(embedding, y)[0]
    residual = np.linalg.norm(y - embedding @ coefficients)
    u, s, _ = scipy.linalg.svd(x - x.mean(axis=0), full_matrices=False)
    projector = np.linalg.pinv(u[:, :30] * s[:30])
    return float(max(evidences) + residual + np.abs(projector @ y).sum())


def _box(image: Any, radius: int) -> Any:
    """Return the mean over a square around each point, by running sums."""
    size = 2 * radius + 1
    for axis in (0, 1):
        pads = [(radius + 1, radius) if a == axis else (0, 0) for a in (0, 1)]
        sums = np.cumsum(np.pad(image, pads, mode="edge"), axis=axis)
        first = np.take(sums, range(image.shape[axis]), axis=axis)
        last = np.take(sums, range(size, size + image.shape[axis]), axis=axis)
        image = (last - first) / size
    return image


def photograph() -> float:
    """Linearise, denoise, sharpen, even out and measure a photograph of 427 x 640."""
    image = (_photograph() / 255.0) ** 2.2
    rows, columns = image.shape[:2]
    planes = np.ascontiguousarray(np.moveaxis(image, -1, 0))
    fy, fx = scipy.fft.fftfreq(rows)[:, None], scipy.fft.rfftfreq(columns)[None, :]
    spectra = scipy.fft.rfft2(planes)
    for radius in (1.0, 4.0):
        transfer = np.exp(-2 * (np.pi * radius) ** 2 * (fx**2 + fy**2))
        blurred = scipy.fft.irfft2(spectra * transfer, s=(rows, columns))
        planes = planes + 0.3 * np.tanh(4 * (planes - blurred)) / 4
    light = np.tensordot([0.2126, 0.7152, 0.0722], planes, axes=1)
    u, s, vt = np.linalg.svd(light, full_matrices=False)
    light = (u[:, :60] * s[:60]) @ vt[:60]
    mean = _box(light, 8)
    deviation = np.sqrt(np.maximum(_box(light**2, 8) - mean**2, 1e-6))
    contrast = np.arctan((light - mean) / deviation)
    gradient = np.hypot(np.diff(light, axis=0)[:, :-1], np.diff(light, axis=1)[:-1])
    ranks = np.argsort(np.argsort(contrast, axis=None))
    even = (ranks / ranks.size).reshape(light.shape)
    tones = np.log1p(np.exp(4 * even - 2)) + np.sin(np.pi * even)
    return float(tones.mean() + gradient.std() + np.sort(contrast, axis=1)[:, 10].sum())


def learning() -> float:
    """Fit several of scikit-learn's models to the digits."""
    from sklearn.decomposition import PCA, FactorAnalysis
    from sklearn.kernel_approximation import Nystroem
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler, label_binarize

    x, labels = _digits()
    y = label_binarize(labels, classes=range(10)).astype(float)
    reduced = make_pipeline(StandardScaler(), PCA(40, svd_solver="full", whiten=True))
    z = reduced.fit_transform(x)
    features = Nystroem(gamma=0.02, n_components=300, random_state=0).fit_transform(z)
    ridge = Ridge(alpha=1e-2, solver="svd").fit(features, y)
    kernel = KernelRidge(alpha=1e-2, kernel="rbf", gamma=0.02).fit(z[:900], y[:900])
    factors = FactorAnalysis(10, svd_method="lapack", max_iter=20, tol=0.0).fit(z)
    scores = (ridge.score(features, y), kernel.score(z[900:], y[900:]), factors.score(z))
    return float(sum(scores))


WORKLOADS: dict[str, Callable[[], float]] = {
    "linear algebra": algebra,
    "photograph": photograph,
    "scikit-learn": learning,
}
