"""``python -m dispatch_xp`` is ``dispatch-xp``."""

from __future__ import annotations

from dispatch_xp.cli import main

if __name__ == "__main__":
    main(prog_name="dispatch-xp")
