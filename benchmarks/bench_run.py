"""What ``dispatch-xp run`` costs a program that has nothing to offload.

    env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE -u PYTHONDONTWRITEBYTECODE \\
        python benchmarks/bench_run.py [--rounds N]

Needs pandas, scikit-learn and a machine profile. Start-up is the whole time of a program that
imports NumPy only; the goal is 0.15 s more than plain Python. The second program groups a table and
clusters a few points, again and again, and tells its own time, without the start; the goal is 1.00
to 1.02 times plain, with quiet thread pools in both, as ``run`` sets them: without them plain
Python may take several times as long. Processes take turns; medians, and medians of the ratios
round by round.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time

from dispatch_xp.quiet_pools import missing

NOTHING = """
import time
import numpy as np, pandas as pd
from sklearn.cluster import KMeans
rng = np.random.default_rng(0)
table = pd.DataFrame({"key": rng.integers(0, 50, 20_000), "x": rng.random(20_000)})
points = rng.random((150, 4))
def once():
    table.groupby("key")["x"].agg(["mean", "std", "max"])
    KMeans(3, n_init=2, random_state=0).fit(points)
once()
began = time.perf_counter()
for _ in range(1500):
    once()
print(time.perf_counter() - began)
"""
PLAIN = [sys.executable]
ROUTED = [sys.executable, "-m", "dispatch_xp", "run", "-q"]


def whole(command: list[str]) -> float:
    """Return the seconds from start to end."""
    began = time.perf_counter()
    subprocess.run([*command, "-c", "import numpy"], check=True)
    return time.perf_counter() - began


def told(command: list[str]) -> float:
    """Return the seconds that the program tells."""
    ran = subprocess.run([*command, "-c", NOTHING], check=True, capture_output=True, text=True)
    return float(ran.stdout)


def main() -> None:
    # as `run` starts programs
    os.environ.update(missing(os.environ))
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    for name, seconds in {"start-up": whole, "nothing to offload": told}.items():
        pairs = []
        for i in range(rounds):
            order = (PLAIN, ROUTED) if i % 2 else (ROUTED, PLAIN)
            times = [seconds(command) for command in order]
            pairs.append(tuple(times) if i % 2 else tuple(reversed(times)))
        plain, routed = (statistics.median(x) for x in zip(*pairs, strict=True))
        added = statistics.median(b - a for a, b in pairs)
        ratio = statistics.median(b / a for a, b in pairs)
        print(f"{name:20}{plain:8.3f} s{routed:8.3f} s   {added:+.3f} s, {ratio:.3f} times")


if __name__ == "__main__":
    main()
