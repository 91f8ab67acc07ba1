"""What the model's choices cost: whole programs under every backend, `auto`, and an oracle.

    env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE python benchmarks/bench_regret.py \
        [-v] [--rounds N] [--workloads NAME,...] [--level N] [--json FILE]

Needs a machine profile (``dispatch-xp calibrate``). The programs of ``workloads.py`` are run under
each backend to measure every call where it is made, the shortest of several passes spread in time.
The oracle looks up the best backend of each call. Since what is best call by call may wake several
thread pools in turn, it is tried with every subset of the backends and with several margins, and
the fastest of these counts. Then all are run side by side, in turn, in one process: medians, and
medians of the ratios round by round. Backends run already, so a start costs nothing here; what is
learned begins with the profile alone and is not kept. Each program is run some 400 times: minutes
on a quiet machine, and far longer where others use the cores that the thread pools spin on.

Goals: ``auto`` at most 1.05 times the oracle, at most 1.02 times plain NumPy, and faster than every
fixed backend. With ``-v``: the calls on which `auto` lost most against their best backend, by what
was measured, with the predictions of the profile alone, and as they were corrected while
the program ran. A curve of the profile that is far from the measured times is one to mend.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec
from hindsight import Choices, Metered, Oracle, Times, active
from interleave import rounds_of
from workloads import WORKLOADS

from dispatch_xp import backends as registry
from dispatch_xp.backends import Backend
from dispatch_xp.config import Settings, load
from dispatch_xp.decision import REFERENCE
from dispatch_xp.policies.cost_model import CostModelPolicy
from dispatch_xp.policies.fixed import FixedPolicy
from dispatch_xp.policies.reference import ReferencePolicy
from dispatch_xp.profile import default_path, read
from dispatch_xp.state import State

MARGINS = (0.8, 1.02, 1.3)
PLAIN, AUTO, ORACLE = "plain NumPy", "auto", "oracle"
GOALS = {ORACLE: 1.05, PLAIN: 1.02}
# the thread pools that ran before spin for a while
REST = 0.1
# one call of a program may fall wholly into a slow moment of the machine
VISIT = 0.4


class Bench:
    """One workload, and what is measured of it."""

    def __init__(self, settings: Settings, program: Callable[[], float], rounds: int) -> None:
        self.settings = settings
        self.program = program
        self.rounds = rounds
        self.backends = _available(settings)
        self.times = Times()
        profile = read(Path(settings.profile or default_path()))
        self.model = CostModelPolicy(settings, profile)
        # never told of any time
        self.untaught = CostModelPolicy(settings, profile)

    @property
    def names(self) -> list[str]:
        return [backend.name for backend in self.backends]

    def measure_calls(self) -> None:
        """Time every call on every backend, pass after pass."""
        for _ in range(max(self.rounds // 2, 2)):
            for name in (REFERENCE, *self.names):
                metered = Metered(self.settings, name, self.times)
                time.sleep(REST)
                with active(State(self.settings, metered, self.backends)):
                    self.program()
                if name == REFERENCE:
                    self.times.counts = dict(metered.counts)

    def oracle(self) -> Oracle:
        """Return the fastest of the policies that know the times."""
        found = [Oracle(self.settings, self.times, (), 1.0)]
        for size in range(1, len(self.names) + 1):
            for among in combinations(self.names, size):
                found += [Oracle(self.settings, self.times, among, m) for m in MARGINS]
        variants = {oracle.label: self.program for oracle in found}
        around = {o.label: self._within(State(self.settings, o, self.backends)) for o in found}
        tried = rounds_of(variants, rounds=2, seconds=0.0, around=around, rest=REST)
        return min(found, key=lambda oracle: min(tried[oracle.label]))

    @staticmethod
    def _within(state: State) -> Callable[[], Any]:
        return lambda: active(state)

    def run(self, oracle: Oracle) -> tuple[dict[str, list[float]], Choices]:
        """Run everything in turn; then `auto` once more, to see what it chooses."""
        settings = self.settings
        auto = State(settings, self.model, self.backends)
        states = {REFERENCE: State(settings, ReferencePolicy(settings))}
        for backend in self.backends:
            only = msgspec.structs.replace(settings, backend=backend.name)
            states[backend.name] = State(only, FixedPolicy(only), (backend,))
        states |= {AUTO: auto, ORACLE: State(settings, oracle, self.backends)}
        around = {name: self._within(state) for name, state in states.items()}
        variants = dict.fromkeys((PLAIN, *states), self.program)
        found = rounds_of(variants, rounds=self.rounds, seconds=VISIT, around=around, rest=REST)
        choices = Choices()
        with active(replace(auto, observer=choices)):
            self.program()
        return found, choices

    def regrets(self, choices: Choices) -> list[dict[str, Any]]:
        """Return what each call signature cost more than on its best backend, the most first."""
        found = []
        for signature, count in self.times.counts.items():
            seconds, call = self.times.seconds[signature], self.times.calls[signature]
            if REFERENCE not in seconds:
                continue
            best = min(seconds, key=seconds.__getitem__)
            ran = choices.of(signature, count)
            cost = sum(
                n * (seconds.get(name, seconds[best]) - seconds[best]) for name, n in ran.items()
            )
            predicted = {
                name: (before.total, after.total)
                for name in seconds
                if (before := self.untaught.predict(call, name)) is not None
                and (after := self.model.predict(call, name)) is not None
            }
            found.append(
                {
                    "call": f"{' '.join(call.curve)} {call.shapes}",
                    "count": count,
                    "ran": {name: n for name, n in ran.items() if n},
                    "best": best,
                    "cost": cost,
                    "measured": seconds,
                    "predicted": predicted,
                }
            )
        return sorted(found, key=lambda entry: -entry["cost"])


def _available(settings: Settings) -> tuple[Backend, ...]:
    found = []
    for name in settings.backends:
        backend = registry.get(name)
        if backend.probe().available:
            backend.start()
            found.append(backend)
    return tuple(found)


def ratio(times: dict[str, list[float]], first: str, second: str) -> float:
    return statistics.median(a / b for a, b in zip(times[first], times[second], strict=True))


def report(times: dict[str, list[float]], oracle: str) -> dict[str, Any]:
    """Print a workload's table and return its figures."""
    found: dict[str, Any] = {"oracle": oracle, "medians": {}, "auto to": {}, "rounds": times}
    print(f"{'':14}{'median':>12}{'auto takes':>12}")
    for name, values in times.items():
        found["medians"][name] = statistics.median(values)
        found["auto to"][name] = share = ratio(times, AUTO, name)
        goal = GOALS.get(name, 1.0)
        verdict = (
            "" if name in (AUTO, REFERENCE) else f"  goal {goal:g}" + " missed" * (share > goal)
        )
        print(f"{name:14}{found['medians'][name] * 1e3:9.1f} ms{share:12.3f}{verdict}")
    print(f"the oracle is the best of several: {oracle}")
    return found


def details(regrets: Sequence[dict[str, Any]], most: int = 25) -> None:
    total = sum(entry["cost"] for entry in regrets)
    print(f"by what was measured call by call, auto costs {total * 1e3:.2f} ms; the most:")
    for entry in regrets[:most]:
        if entry["cost"] <= 0:
            break
        ran = ", ".join(f"{name} {n}" for name, n in entry["ran"].items())
        print(f"  {entry['cost'] * 1e3:9.3f} ms  {entry['call']}")
        print(f"{'':15}ran on {ran}; best is {entry['best']}")
        for name, seconds in entry["measured"].items():
            text = "no curve"
            if name in entry["predicted"]:
                before, after = entry["predicted"][name]
                text = f"profile {before * 1e3:9.3f} ms, learned {after * 1e3:9.3f} ms"
            print(f"{'':15}{name:10} measured {seconds * 1e3:9.3f} ms, {text}")


def tell(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-v", "--verbose", action="store_true", help="the calls that cost most")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--workloads", default=",".join(WORKLOADS))
    parser.add_argument("--level", type=int, default=5)
    parser.add_argument("--json", type=Path, help="also write the figures here")
    arguments = parser.parse_args()
    settings = load(level=arguments.level).settings
    problem = CostModelPolicy(settings).problem
    if problem:
        sys.exit(problem)
    warnings.simplefilter("ignore")
    print(f"wait policy of OpenMP: {os.environ.get('OMP_WAIT_POLICY', 'not set')}")
    written = {}
    for name in arguments.workloads.split(","):
        bench = Bench(settings, WORKLOADS[name], arguments.rounds)
        bench.program()
        tell(f"{name}: every call on every backend")
        bench.measure_calls()
        tell(f"{name}: which oracle is the fastest")
        oracle = bench.oracle()
        tell(f"{name}: side by side")
        times, choices = bench.run(oracle)
        calls, kinds = sum(bench.times.counts.values()), len(bench.times.counts)
        print(f"\n{name}: {calls} calls of {kinds} kinds that a backend takes", flush=True)
        written[name] = report(times, oracle.label)
        written[name]["regrets"] = regrets = bench.regrets(choices)
        if arguments.verbose:
            details(regrets)
        sys.stdout.flush()
    if arguments.json:
        arguments.json.write_text(json.dumps(written, indent=1) + "\n")


if __name__ == "__main__":
    main()
