"""The one thing pyproject.toml cannot say: an extension that may fail to compile."""

import numpy as np
from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "dispatch_xp._ufunc_loops",
            sources=["dispatch_xp/_ufunc_loops.c"],
            include_dirs=[np.get_include()],
            optional=True,
        )
    ]
)
