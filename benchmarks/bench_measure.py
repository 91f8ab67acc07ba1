"""Whether ``dispatch-xp measure`` and ``cProfile`` agree about the programs in ``examples/``.

    env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE python benchmarks/bench_measure.py [PROGRAM...]

Prints the share of the run time inside calls that some backend could take, by both. Those calls
only that cProfile sees: ``a @ b`` and elementwise functions are none to it. cProfile makes Python
slower, imports above all, so ``main()`` is called again and again for some seconds. Medians of a
few rounds. Goal: within 5 points.
"""

from __future__ import annotations

import argparse
import json
import os
import pstats
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from dispatch_xp.functions import FUNCTIONS
from dispatch_xp.operations import elementwise

ROUNDS = 3
SECONDS = 3.0
EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
# loops of ufuncs
UNSEEN = {row.name for row in elementwise.ROWS} | {"matmul", "vecdot"}
FOLDERS = {"numpy": "numpy/_core/"}
METHODS = ("sum", "prod", "mean", "var", "std", "min", "max", "argmin", "argmax", "any", "all")
LIBRARIES = ("/numpy/", "/scipy/", "/uarray/")
# what stands between a program and a function of SciPy
BETWEEN = {"wrapper", "__ua_function__"}

REPEATED = """
import sys, time
sys.path.insert(0, {folder!r})
import {name} as program
sys.argv = [{name!r}]
def repeat():
    began = time.perf_counter()
    while time.perf_counter() < began + {seconds}:
        program.main()
    print(time.perf_counter() - began)
"""
PLAIN = (
    REPEATED
    + """
import contextlib, cProfile, dispatch_xp
dispatch_xp.backend = lambda *_, **__: contextlib.nullcontext()
profile = cProfile.Profile()
profile.runcall(repeat)
profile.dump_stats({out!r})
"""
)
MEASURED = REPEATED + "repeat()"

Key = tuple[str, int, str]


def wanted(key: Key) -> bool:
    """Whether a function of the profile is one that has a door."""
    path, _, name = key
    if path == "~":
        return any(name == f"<method '{method}' of 'numpy.ndarray' objects>" for method in METHODS)
    return any(
        function.rpartition(".")[2] == name
        and FOLDERS.get(module := function.rpartition(".")[0], module.replace(".", "/") + "/")
        in path
        for function in FUNCTIONS
    )


def profiled(program: Path, folder: Path) -> float:
    """Return the share by cProfile."""
    out = folder / "out.prof"
    code = PLAIN.format(
        folder=str(program.parent), name=program.stem, out=str(out), seconds=SECONDS
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
    stats = pstats.Stats(str(out)).stats  # type: ignore[attr-defined]
    total = sum(own for _, _, own, _, _ in stats.values())
    inside = 0.0
    for key, (_, _, _, _, callers) in stats.items():
        if wanted(key):
            for caller, (_, _, _, cumulative) in callers.items():
                library = caller[0] == "~" or any(x in caller[0] for x in LIBRARIES)
                if not library or caller[2] in BETWEEN:
                    inside += cumulative
    return inside / total


def measured(program: Path, folder: Path) -> float:
    """Return the share by ``measure``."""
    report = folder / "report.json"
    code = MEASURED.format(folder=str(program.parent), name=program.stem, seconds=SECONDS)
    command = [sys.executable, "-m", "dispatch_xp", "measure", "-q", "--json", str(report)]
    ran = subprocess.run([*command, "-c", code], check=True, capture_output=True, text=True)
    found = json.loads(report.read_text())
    seconds = sum(group["seconds"] for group in found["groups"] if group["operation"] not in UNSEEN)
    return float(seconds / (float(ran.stdout.split()[-1]) - found["measuring"]))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs="*", type=Path, default=EXAMPLES)
    # as `measure` sets it
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    print(f"{'':24}{'measure':>10}{'cProfile':>10}{'points':>8}")
    for program in parser.parse_args().programs:
        with tempfile.TemporaryDirectory() as name:
            rounds = [
                (measured(program, Path(name)), profiled(program, Path(name)))
                for _ in range(ROUNDS)
            ]
        ours, theirs = (statistics.median(shares) for shares in zip(*rounds, strict=True))
        print(f"{program.stem:24}{ours:10.1%}{theirs:10.1%}{(ours - theirs) * 100:+8.1f}")


if __name__ == "__main__":
    main()
