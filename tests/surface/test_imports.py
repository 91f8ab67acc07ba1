"""What `import dispatch_xp` does: little, and nothing heavy."""

from __future__ import annotations

import subprocess
import sys

import pytest

import dispatch_xp


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_import_loads_nothing_heavy():
    heavy = ("numpy", "scipy", "torch", "cupy", "dpnp", "rich", "click", "msgspec", "uarray")
    code = f"import sys, dispatch_xp; print([m for m in {heavy!r} if m in sys.modules])"
    assert run(code) == "[]"


def test_a_context_loads_no_device_library():
    code = (
        "import sys, warnings, numpy as np, dispatch_xp\n"
        "warnings.simplefilter('ignore')\n"
        "with dispatch_xp.backend('auto'):\n"
        "    np.linalg.inv(np.eye(300)); np.exp(np.ones(100000))\n"
        "print([m for m in ('torch', 'cupy', 'rich', 'click') if m in sys.modules])"
    )
    assert run(code) == "[]"


def test_nothing_is_patched_at_import():
    code = (
        "import numpy as np, scipy.linalg\n"
        "before = (np.linalg.inv._implementation.__code__, np.dot._implementation,\n"
        "          scipy.linalg.svd.__code__)\n"
        "import dispatch_xp, dispatch_xp.doors, dispatch_xp.scipy.linalg\n"
        "after = (np.linalg.inv._implementation.__code__, np.dot._implementation,\n"
        "         scipy.linalg.svd.__code__)\n"
        "print(all(a is b for a, b in zip(before, after)))"
    )
    assert run(code) == "True"


def test_looking_for_a_module_does_not_end_the_wait_for_its_import():
    code = (
        "import importlib.util, numpy, dispatch_xp, sys\n"
        "dispatch_xp.install()\n"
        "assert 'scipy.linalg' not in sys.modules\n"
        "for _ in range(2):\n"
        "    assert importlib.util.find_spec('scipy.linalg') is not None\n"
        "import scipy.linalg\n"
        "print('dispatch_xp' in scipy.linalg.svd.__code__.co_filename)\n"
        "dispatch_xp.uninstall()\n"
        "print(any('dispatch_xp' in type(f).__module__ for f in sys.meta_path))"
    )
    assert run(code).split() == ["True", "False"]


def test_every_public_name_exists():
    for name in dispatch_xp.__all__:
        assert getattr(dispatch_xp, name) is not None
    assert set(dispatch_xp.__all__) <= set(dir(dispatch_xp))
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = dispatch_xp.no_such_name


def test_the_folders_refuse_other_names():
    code = (
        "import importlib.util, sys, dispatch_xp.backends, dispatch_xp.policies\n"
        "for package in (dispatch_xp.backends, dispatch_xp.policies):\n"
        "    spec = importlib.util.spec_from_file_location('other', package.__file__)\n"
        "    try:\n"
        "        spec.loader.exec_module(importlib.util.module_from_spec(spec))\n"
        "    except ImportError as error:\n"
        "        print(error)"
    )
    lines = run(code).splitlines()
    assert lines == [
        "import dispatch_xp.backends, not the folder it lives in",
        "import dispatch_xp.policies, not the folder it lives in",
    ]
