"""The one thing pyproject.toml cannot say: extensions that may fail to compile."""

import numpy as np
from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            f"dispatch_xp.{name}",
            sources=[f"dispatch_xp/{name}.c"],
            include_dirs=[np.get_include()],
            optional=True,
        )
        for name in ("_array_core", "_function_gate", "_ufunc_loops")
    ]
)
