"""What ``import dispatch_xp`` and switching it on cost, in fresh processes that take turns.

env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE python benchmarks/bench_import.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

PLAIN = "import numpy, scipy.linalg, scipy.fft"
VARIANTS = {
    "numpy, scipy.linalg, scipy.fft": PLAIN,
    "+ import dispatch_xp": f"{PLAIN}\nimport dispatch_xp",
    "+ enter backend('auto')": (
        f"{PLAIN}\nimport dispatch_xp, warnings\nwarnings.simplefilter('ignore')\n"
        "with dispatch_xp.backend('auto'): pass"
    ),
}


def main(rounds: int = 15) -> None:
    times: dict[str, list[float]] = {name: [] for name in VARIANTS}
    for _ in range(rounds):
        for name, code in VARIANTS.items():
            started = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            times[name].append(time.perf_counter() - started)
    plain = statistics.median(times["numpy, scipy.linalg, scipy.fft"])
    for name, values in times.items():
        median = statistics.median(values)
        print(f"{name:32}{median * 1e3:9.0f} ms   {median / plain:5.2f} times")


if __name__ == "__main__":
    main()
