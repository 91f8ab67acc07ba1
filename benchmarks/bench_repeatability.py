"""Two calibrations in a row: in how many of 200 calls do their profiles decide alike?

    env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE python benchmarks/bench_repeatability.py \
        [--depth quick|default|full] [--profiles FIRST SECOND] [--level N] [--json FILE]

Each calibration is a process of its own, as ``dispatch-xp calibrate`` is; ``--profiles`` compares
two files that are there already. The calls are those of ``heldout.py``, which calibration does not
measure. Decided is where a call runs once every backend runs and a change of thread pools is paid.
Lists the calls on which the profiles differ, with the predicted reference / backend of both: near
the required speed-up, either choice costs little. The goal is 95%.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from heldout import calls

from dispatch_xp import backends
from dispatch_xp.backends import Backend
from dispatch_xp.calibration.plan import Case
from dispatch_xp.config import Settings, load
from dispatch_xp.decision import REFERENCE
from dispatch_xp.levels import LEVELS
from dispatch_xp.policies.cost_model import CostModelPolicy
from dispatch_xp.profile import read

GOAL = 0.95
SEED = 7


def calibrated(depth: str, path: Path) -> Path:
    """Calibrate in a new process."""
    flags = [] if depth == "default" else [f"--{depth}"]
    command = [sys.executable, "-m", "dispatch_xp", "calibrate", *flags, "--output", str(path)]
    print(" ".join(command[1:]), flush=True)
    if subprocess.run(command).returncode:
        sys.exit("a calibration failed")
    return path


def takers(case: Case, available: Sequence[Backend]) -> list[Backend]:
    name = case.call.operation.name
    return [b for b in available if name in b.operations() and not b.refuses(case.call)]


def decided(policy: CostModelPolicy, case: Case, candidates: list[Backend]) -> dict[str, Any]:
    """Return the backend that a profile decides for, and what it promises."""
    found = policy.choose(case.call, candidates).predictions
    if REFERENCE not in found or len(found) < 2:
        return {"backend": REFERENCE, "ratios": {}}
    reference = found[REFERENCE].total
    ratios = {name: reference / p.total for name, p in found.items() if name != REFERENCE}
    best = max(ratios, key=ratios.__getitem__)
    chosen = best if ratios[best] >= policy.level.speedup else REFERENCE
    return {"backend": chosen, "ratios": {name: round(r, 3) for name, r in ratios.items()}}


def compared(settings: Settings, paths: Sequence[Path], count: int) -> dict[str, Any]:
    policies = [CostModelPolicy(settings, read(path)) for path in paths]
    available = [b for name in settings.backends if (b := backends.get(name)).probe().available]
    for backend in available:
        backend.start()
    known, differ = 0, []
    for case in calls(count, SEED):
        candidates = takers(case, available)
        first, second = (decided(policy, case, candidates) for policy in policies)
        known += bool(first["ratios"] and second["ratios"])
        if first["backend"] != second["backend"]:
            call = " ".join((case.function.path, case.call.dtype.name, str(case.call.shapes)))
            differ.append({"call": call, "first": first, "second": second})
    return {
        "calls": count,
        "with curves in both": known,
        "agree": count - len(differ),
        "agree of those with curves": known - sum(bool(d["first"]["ratios"]) for d in differ),
        "level": settings.level,
        "profiles": [str(path) for path in paths],
        "differ": differ,
    }


def text_of(decision: dict[str, Any]) -> str:
    ratios = " ".join(f"{name} {ratio:.2f}" for name, ratio in decision["ratios"].items())
    return f"{decision['backend']:10} ({ratios or 'no curve'})"


def report(found: dict[str, Any]) -> None:
    required = LEVELS[found["level"]].speedup
    print(f"level {found['level']}: a backend has to promise {required:g} times the speed")
    for entry in found["differ"]:
        print(f"  {entry['call']}")
        print(f"    {text_of(entry['first'])}   {text_of(entry['second'])}")
    count, known = found["calls"], found["with curves in both"]
    agree = found["agree of those with curves"]
    print(
        f"{found['agree']} of {count} calls are decided alike ({found['agree'] / count:.1%}); of "
        f"the {known} that both profiles have curves for, {agree} ({agree / max(known, 1):.1%}, "
        f"goal {GOAL:.0%})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--depth", choices=("quick", "default", "full"), default="quick")
    parser.add_argument("--profiles", nargs=2, type=Path, metavar=("FIRST", "SECOND"))
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--level", type=int, default=5)
    parser.add_argument("--json", type=Path, help="also write the figures here")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    # both profiles see the same configuration, and neither what an earlier program has learned
    settings = msgspec.structs.replace(load(level=arguments.level).settings, operations={})
    with tempfile.TemporaryDirectory() as folder:
        paths = arguments.profiles or [
            calibrated(arguments.depth, Path(folder) / f"{turn}.json")
            for turn in ("first", "second")
        ]
        found = compared(settings, paths, arguments.calls)
    report(found)
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
