"""Compress a photograph by its singular value decomposition.

Keeps the largest singular values of each colour of the image that comes with scikit-learn, and
says what is lost. Run it as ``python image_compression.py [rank]``.
"""

from __future__ import annotations

import sys

import numpy as np
import scipy.linalg
from sklearn.datasets import load_sample_image

import dispatch_xp


def compress(image: np.ndarray, rank: int) -> np.ndarray:
    """Return the best approximation of each colour channel by a matrix of that rank."""
    result = np.empty(image.shape)
    for channel in range(image.shape[2]):
        u, s, vt = scipy.linalg.svd(image[:, :, channel], full_matrices=False)
        result[:, :, channel] = (u[:, :rank] * s[:rank]) @ vt[:rank]
    return result


def main(rank: int = 50) -> float:
    """Compress the sample image and return the relative error."""
    image = load_sample_image("china.jpg").astype(np.float64) / 255
    with dispatch_xp.backend("auto"):
        small = compress(image, rank)
    error = float(np.linalg.norm(small - image) / np.linalg.norm(image))
    rows, columns, channels = image.shape
    kept = rank * (rows + columns + 1) / (rows * columns)
    print(f"{rows} x {columns} x {channels}: rank {rank} keeps {kept:.0%} of the numbers")
    print(f"relative error {error:.4f}")
    return error


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
