"""Blur and sharpen a photograph in the frequency domain.

A Gaussian low-pass filter by ``scipy.fft``, on the image that comes with scikit-learn. Run it as
``python image_filter.py [radius]``.
"""

from __future__ import annotations

import sys

import numpy as np
import scipy.fft
from sklearn.datasets import load_sample_image

import dispatch_xp


def low_pass(image: np.ndarray, radius: float) -> np.ndarray:
    """Return the image without details finer than `radius` pixels."""
    rows, columns = image.shape[:2]
    fy = scipy.fft.fftfreq(rows)[:, None, None]
    fx = scipy.fft.rfftfreq(columns)[None, :, None]
    transfer = np.exp(-2 * (np.pi * radius) ** 2 * (fx**2 + fy**2))
    spectrum = scipy.fft.rfft2(image, axes=(0, 1))
    return scipy.fft.irfft2(spectrum * transfer, s=(rows, columns), axes=(0, 1))


def main(radius: float = 4.0) -> tuple[float, float]:
    """Filter the sample image and return how rough it was, and is."""
    image = load_sample_image("flower.jpg").astype(np.float64) / 255
    with dispatch_xp.backend("auto"):
        smooth = low_pass(image, radius)
    before, after = (float(np.abs(np.diff(x, axis=0)).mean()) for x in (image, smooth))
    print(f"radius {radius:g}: mean step between rows {before:.4f}, filtered {after:.4f}")
    print(f"mean brightness {image.mean():.4f}, filtered {smooth.mean():.4f}")
    return before, after


if __name__ == "__main__":
    main(*(float(argument) for argument in sys.argv[1:]))
