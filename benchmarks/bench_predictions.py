"""Predicted against measured, for calls that calibration did not measure.

    env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE python benchmarks/bench_predictions.py [COUNT] [-v]

Needs a machine profile. Nothing is learned on the way: the profile alone predicts.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections import defaultdict

import numpy as np
from heldout import calls

from dispatch_xp import backends
from dispatch_xp.calibration.canary import Canary
from dispatch_xp.calibration.measuring import pool_of
from dispatch_xp.calibration.plan import Case
from dispatch_xp.calibration.timing import Failure, on_backend, on_reference
from dispatch_xp.config import load
from dispatch_xp.decision import REFERENCE
from dispatch_xp.policies.cost_model import CostModelPolicy
from dispatch_xp.state import CURRENT, QUIET

BUDGET = 8e-3
ROUNDS, PATIENCE, REST = 4, 3, 0.02
LONGEST = 0.1


def measured(name: str, case: Case, canary: Canary) -> float:
    """Return the seconds of a call on a backend: the shortest until the machine is quiet around it.

    A profile says how fast a quiet machine is. Another program makes it half as fast, on a shared
    one for a good part of the time, and for minutes: so everything is measured in several rounds.
    """
    best = math.inf
    for _ in range(PATIENCE):
        before = canary.sing()
        if name == REFERENCE:
            seconds = on_reference(case, BUDGET)
        else:
            seconds = on_backend(case, backends.get(name), load().settings, BUDGET)
        best = min(best, seconds)
        if canary.is_quiet(name, before, canary.sing()):
            break
        time.sleep(REST)
    return best


def takes(name: str, case: Case) -> bool:
    if name == REFERENCE:
        return True
    backend = backends.get(name)
    backend.start()
    return case.call.operation.name in backend.operations() and not backend.refuses(case.call)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    settings = load().settings
    policy = CostModelPolicy(settings)
    if policy.profile is None:
        sys.exit(policy.problem)
    CURRENT.set(QUIET)
    warnings.simplefilter("ignore")
    names = [REFERENCE, *(n for n in policy.profile.backends if backends.get(n).shares_host_memory)]
    cases = sorted(calls(count), key=pool_of)
    predicted: dict[tuple[str, int], float] = {}
    for name in names:
        for number, case in enumerate(cases):
            prediction = policy.predict(case.call, name) if takes(name, case) else None
            if prediction is not None and prediction.total <= LONGEST:
                predicted[name, number] = prediction.total
    best: dict[tuple[str, int], float] = {}
    canary = Canary()
    for _ in range(ROUNDS):
        last = ("", "")
        for name, number in predicted:
            pool = pool_of(cases[number])
            if (name, pool) != last:
                time.sleep(0.15)
                last = (name, pool)
            try:
                seconds = measured(name, cases[number], canary)
            except Failure:
                continue
            best[name, number] = min(seconds, best.get((name, number), seconds))
    errors: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for (name, number), seconds in best.items():
        call = cases[number].call
        label = f"{' '.join(call.curve)} {call.shapes}"
        errors[name].append((math.log(seconds / predicted[name, number]), label))
    print(f"{count} calls of mixed operations, dtypes and shapes; measured / predicted")
    print(f"{'':12}{'calls':>7}{'median':>9}{'90%':>9}{'common':>9}{'median':>9}{'90%':>9}")
    for name, found in errors.items():
        logs = np.array([error for error, _ in found])
        common = np.median(logs)
        apart = (np.quantile(np.abs(each), [0.5, 0.9]) for each in (logs, logs - common))
        middle, most, middle_apart, most_apart = np.exp(np.concatenate(list(apart)))
        print(
            f"{name:12}{len(found):7}{middle:9.2f}{most:9.2f}"
            f"{math.exp(common):9.2f}{middle_apart:9.2f}{most_apart:9.2f}"
        )
    print(
        "goals 1.15 and 1.50; common: by how much the machine was slower now than when it was\n"
        "calibrated (the median of measured / predicted), and the errors apart from that"
    )
    if "-v" in sys.argv:
        for name, found in errors.items():
            print(f"{name}: median by curve, then the worst")
            curves: dict[str, list[float]] = defaultdict(list)
            for error, label in found:
                curves[" ".join(label.split()[:2])].append(error)
            for curve, apart in sorted(curves.items(), key=lambda pair: np.median(pair[1])):
                print(f"  {math.exp(np.median(apart)):7.2f}{len(apart):5}  {curve}")
            for error, label in sorted(found, key=lambda pair: -abs(pair[0]))[:40]:
                print(f"  {math.exp(error):7.2f}  {label}")


if __name__ == "__main__":
    main()
