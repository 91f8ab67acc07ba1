"""What a decision costs: remembered, made anew, observed; and an operation's limit.

    python benchmarks/bench_decision.py [--profile FILE]

Uses a made-up profile with curves of every operation unless a file is given, so that no calibration
is needed. Goals: a remembered decision about 1 us, a new one below 5 us, a limit far below 1 ms.
"""

from __future__ import annotations

import argparse
import statistics
import timeit
from pathlib import Path
from typing import Any

import numpy as np

from dispatch_xp import backends
from dispatch_xp.calibration.plan import DEPTHS, tasks
from dispatch_xp.call import Call
from dispatch_xp.config import Settings
from dispatch_xp.curve import Point
from dispatch_xp.decision import REFERENCE
from dispatch_xp.operations import OPERATIONS
from dispatch_xp.policies.cost_model import CostModelPolicy
from dispatch_xp.profile import BackendProfile, Profile, read, this_machine

RATES = {REFERENCE: 1e9, "threads": 1.2e9, "torch": 2e9}
CASES = (
    ("exp", "vector", 100_000),
    ("matmul", "matrix", 256),
    ("linalg.svd", "matrix", 256),
    ("fft.fftn", "grid", 256),
    ("sum", "rows256", 100_000),
)
# predicted from two layouts each
BETWEEN = (
    Call(OPERATIONS["sum"], np.dtype("f8"), ((2000, 60),), {"axis": 1, "keepdims": False}),
    Call(OPERATIONS["linalg.inv"], np.dtype("f8"), ((500, 16, 16),)),
)


def made_up() -> Profile:
    points: dict[str, Any] = {}
    for task in tasks(None, DEPTHS["default"].dtypes):
        curves = points.setdefault(task.operation.name, {}).setdefault(task.problem.layout, {})
        curves[task.dtype.name] = {
            name: [Point(10.0**k, 10.0**k / rate, 10**k) for k in range(3, 9)]
            for name, rate in RATES.items()
        }
    return Profile(this_machine(), points, {name: BackendProfile() for name in RATES})


def microseconds(statement: Any, number: int, rounds: int = 9) -> tuple[float, float]:
    """Return the median and the smallest time of one run."""
    times = [t / number * 1e6 for t in timeit.repeat(statement, number=number, repeat=rounds)]
    return statistics.median(times), min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--profile", type=Path, help="a machine profile of this machine")
    arguments = parser.parse_args()
    profile = read(arguments.profile) if arguments.profile else made_up()
    policy = CostModelPolicy(Settings(), profile)
    candidates = [backends.get(name) for name in RATES if name != REFERENCE]
    candidates = [b for b in candidates if b.probe().available]
    for backend in candidates:
        backend.start()
    print(f"median (smallest) of 9 rounds, in microseconds; {len(candidates)} candidates")
    print(f"{'':26}{'remembered':>16}{'anew':>16}{'observe':>16}{'limit':>18}")
    calls = {f"{call.operation.name} {call.shapes[0]}": call for call in BETWEEN}
    for operation, layout, size in CASES:
        (task,) = tasks([operation], ["float64"], [layout])
        calls[f"{operation} {layout}"] = task.case(size).call
    for label, call in calls.items():

        def remembered(call: Any = call) -> None:
            policy.choose(call, candidates)

        def anew(call: Any = call) -> None:
            for kind in policy._kinds.values():
                kind.weighed.clear()
            policy.choose(call, candidates)

        policy.choose(call, candidates)
        seconds = policy.predict(call, REFERENCE)
        predicted = seconds.total if seconds is not None else 1.0
        found = (
            microseconds(remembered, 20_000),
            microseconds(anew, 3_000),
            microseconds(lambda c=call, s=predicted: policy.observe(c, REFERENCE, s), 5_000),
            microseconds(lambda c=call: policy.limit(c.operation, candidates), 100),
        )
        text = "".join(f"{median:9.2f} ({least:5.2f})" for median, least in found)
        print(f"{label:26}{text}", flush=True)


if __name__ == "__main__":
    main()
