"""For every operation: plain NumPy and SciPy, each backend forced, and ``auto``, side by side.

    env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE python benchmarks/bench_wins.py [--all]

Uses the machine profile of ``dispatch-xp calibrate``. Of layouts that differ in a length only, one
is measured. Lists the problems on which a backend wins by 1.3 times or more, with what ``auto``
gains there; with ``--all``, every problem. The last lines say how many wins were taken, and where
``auto`` lost. Some five minutes.
"""

from __future__ import annotations

import argparse
import importlib
import math
import os
import warnings
from typing import Any

import numpy as np
from interleave import medians

import dispatch_xp
from dispatch_xp.operations import OPERATIONS
from dispatch_xp.quiet_pools import are_quiet

WIN = 1.3
BUDGET = 0.012
ROUNDS = 4


def function_of(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


SIZES = {"order": 350, "side": 700, "elements": 2_000_000}
# the smaller side of tall and wide matrices
LONG = 120
# matrices in a stack
STACKS = {"stack32": 300}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="list every problem")
    parser.add_argument("--backends", default="threads,torch")
    parser.add_argument("--level", type=int, default=5)
    arguments = parser.parse_args()
    backends = arguments.backends.split(",")
    warnings.simplefilter("ignore")
    quiet = are_quiet(os.environ)
    print(f"thread pools: {'quiet' if quiet else 'as they come'}")
    print(f"{'':46}{'plain':>11}" + "".join(f"{b:>9}" for b in backends) + f"{'auto':>9}")
    around: dict[str, Any] = {name: dispatch_xp.backend(name) for name in backends}
    around["auto"] = dispatch_xp.backend("auto", level=arguments.level)
    wins = taken = 0
    lost = []
    noise: list[float] = []
    for row in OPERATIONS.values():
        for problem in row.problems:
            if problem.refines:
                continue
            # a dtype that calibration measures
            dtype = np.dtype("f8" if "f" in row.kinds else "?")
            size = STACKS.get(problem.layout) or SIZES.get(problem.unit, LONG)
            values = problem.arguments(size, dtype, np.random.default_rng(0))
            function, keywords = (
                function_of(problem.function),
                problem.keywords_of(problem.function),
            )

            def call(f: Any = function, v: Any = values, k: Any = keywords) -> object:
                return f(*v, **k)

            # plain twice: how far the same thing differs from itself is the noise
            names = ("plain", *backends, "auto", "again")
            found = medians(
                dict.fromkeys(names, call),
                rounds=ROUNDS,
                rest=0.005 if quiet else 0.15,
                seconds=BUDGET,
                around={name: (lambda c=context: c) for name, context in around.items()},
            )
            plain = math.sqrt(found["plain"] * found["again"])
            gains = {name: plain / found[name] for name in (*backends, "auto")}
            noise.append(abs(math.log(found["plain"] / found["again"])))
            best = max(gains[name] for name in backends)
            label = f"{row.name} {problem.layout} {size}"
            if best >= WIN:
                wins += 1
                taken += gains["auto"] > 1
            if gains["auto"] < 0.9:
                lost.append((label, gains["auto"]))
            if arguments.all or best >= WIN:
                text = "".join(f"{gains[name]:9.2f}" for name in (*backends, "auto"))
                print(f"{label:46}{plain * 1e3:8.3f} ms{text}", flush=True)
    print(f"a backend wins by {WIN} or more: {wins}; auto faster than plain there: {taken}")
    low, middle, high = np.exp(np.quantile(noise, (0.5, 0.75, 0.9)))
    print(
        f"plain against itself: half within {low:.2f}, three quarters {middle:.2f}, 90% {high:.2f}"
    )
    for label, gain in lost:
        print(f"auto slower than plain: {label}, {gain:.2f}")


if __name__ == "__main__":
    main()
