"""Thread pools in each other's way: as they come, with quiet pools, and with one thread each.

    env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE python benchmarks/bench_pools.py [--rounds N]

Three libraries, each alone and in turn with the others: NumPy's product, SciPy's Cholesky
decomposition, and PyTorch's exponential where it is installed. Nothing is routed: this is what
``dispatch-xp run`` does for a program before any choice. A process each, which take turns; medians
over the rounds of the medians and of the means, since what a collision costs varies.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from statistics import median

from dispatch_xp.quiet_pools import VARIABLES

SIZES = (128, 256, 512)
PROGRAM = """
import json, sys, time
import numpy as np, scipy.linalg
try:
    import torch
except ImportError:
    torch = None

def timed(*calls):
    time.sleep(0.15)
    seconds, end = [], time.perf_counter() + 0.4
    while time.perf_counter() < end:
        started = time.perf_counter()
        for call in calls:
            call()
        seconds.append(time.perf_counter() - started)
    return float(np.median(seconds)), float(np.mean(seconds))

found = {}
for n in json.loads(sys.argv[1]):
    a = np.random.default_rng(0).standard_normal((n, n))
    definite = a @ a.T + n * np.eye(n)
    product, cholesky = lambda: a @ a, lambda: scipy.linalg.cholesky(definite)
    found[f"NumPy, {n}"] = timed(product)
    found[f"SciPy, {n}"] = timed(cholesky)
    found[f"NumPy, SciPy, {n}"] = timed(product, cholesky)
    if torch is not None:
        x = torch.rand(4 * n * n, dtype=torch.float64)
        exp = lambda: torch.exp(x)
        found[f"PyTorch, {n}"] = timed(exp)
        found[f"NumPy, PyTorch, {n}"] = timed(product, exp)
        found[f"all three, {n}"] = timed(product, cholesky, exp)
print(json.dumps(found))
"""


def measured(environ: dict[str, str]) -> dict[str, tuple[float, float]]:
    """Run the program in an environment."""
    command = [sys.executable, "-c", PROGRAM, json.dumps(SIZES)]
    ran = subprocess.run(command, env=environ, check=True, capture_output=True, text=True)
    found: dict[str, tuple[float, float]] = json.loads(ran.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    plain = {n: v for n, v in os.environ.items() if n not in (*VARIABLES, *threads)}
    ways = {
        "as they come": plain,
        "quiet": {**plain, **VARIABLES},
        "one thread": {**plain, **dict.fromkeys(threads, "1")},
    }
    runs = [{way: measured(environ) for way, environ in ways.items()} for _ in range(rounds)]
    print(f"{os.cpu_count()} cores; us per round of calls, median / mean; {rounds} rounds")
    print(f"{'':24}" + "".join(f"{way:>20}" for way in ways))
    for label in runs[0]["quiet"]:
        texts = []
        for way in ways:
            middle, mean = (median(run[way][label][i] * 1e6 for run in runs) for i in (0, 1))
            texts.append(f"{f'{middle:.0f} / {mean:.0f}':>20}")
        print(f"{label:24}" + "".join(texts))


if __name__ == "__main__":
    main()
