"""Imported by Python as it starts, where ``dispatch-xp run`` or ``env`` has put this folder first.

Does next to nothing before the program imports NumPy, and stands in nobody's way: the folder leaves
``sys.path``, and a ``sitecustomize`` that is hidden behind this one is imported.
"""

import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [_p for _p in sys.path if not _p or os.path.abspath(_p) != _here]
sys.path_importer_cache.pop(_here, None)

if "DISPATCH_XP_RUN" in os.environ:
    try:
        from dispatch_xp.programs import startup
    except ImportError:
        pass  # another interpreter, which does not have the package
    else:
        startup.watch()

_ours = sys.modules.pop("sitecustomize")
try:
    import sitecustomize  # noqa: F401
except ImportError as _error:
    if _error.name != "sitecustomize":
        raise
finally:
    # who imported this one looks for it afterwards
    sys.modules.setdefault("sitecustomize", _ours)
