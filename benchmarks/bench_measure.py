"""Whether ``dispatch-xp measure`` and ``cProfile`` agree about the programs in ``examples/``.

    env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE python benchmarks/bench_measure.py [PROGRAM...]

Prints the share of the run time inside calls that some backend could take, by both. Those calls
only that cProfile sees: ``a @ b`` and elementwise functions are none to it. ``main()`` is called
again and again for some seconds, so that imports do not count. cProfile makes Python slower, by
half in ``least_squares``, and the calls themselves hardly: the last column is what it found inside
of them, per pass, as a share of a pass that is not profiled. Medians of a few rounds. Goal: within
5 points of that.
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
from dispatch_xp.quiet_pools import missing

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
    passes = 0
    while time.perf_counter() < began + {seconds}:
        program.main()
        passes += 1
    print("passes", time.perf_counter() - began, passes)
"""
PLAIN = (
    REPEATED
    + """
import contextlib, cProfile, dispatch_xp
dispatch_xp.backend = lambda *_, **__: contextlib.nullcontext()
repeat()
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


def profiled(program: Path, folder: Path) -> tuple[float, float]:
    """Return the share by cProfile, of a pass that is profiled and of one that is not."""
    out = folder / "out.prof"
    code = PLAIN.format(
        folder=str(program.parent), name=program.stem, out=str(out), seconds=SECONDS
    )
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    lines = (line.split() for line in ran.stdout.splitlines())
    plain, during = (line[1:] for line in lines if line[:1] == ["passes"])
    stats = pstats.Stats(str(out)).stats  # type: ignore[attr-defined]
    total = sum(own for _, _, own, _, _ in stats.values())
    inside = 0.0
    for key, (_, _, _, _, callers) in stats.items():
        if wanted(key):
            for caller, (_, _, _, cumulative) in callers.items():
                library = caller[0] == "~" or any(x in caller[0] for x in LIBRARIES)
                if not library or caller[2] in BETWEEN:
                    inside += cumulative
    per_pass = inside / int(during[1])
    return inside / total, per_pass / (float(plain[0]) / int(plain[1]))


def measured(program: Path, folder: Path) -> float:
    """Return the share by ``measure``."""
    report = folder / "report.json"
    code = MEASURED.format(folder=str(program.parent), name=program.stem, seconds=SECONDS)
    command = [sys.executable, "-m", "dispatch_xp", "measure", "-q", "--json", str(report)]
    ran = subprocess.run([*command, "-c", code], check=True, capture_output=True, text=True)
    found = json.loads(report.read_text())
    seconds = sum(group["seconds"] for group in found["groups"] if group["operation"] not in UNSEEN)
    return float(seconds / (float(ran.stdout.split()[-2]) - found["measuring"]))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs="*", type=Path, default=EXAMPLES)
    # as `measure` starts programs
    os.environ.update(missing(os.environ))
    print(f"{'':24}{'measure':>10}{'points':>8}{'cProfile':>10}{'not profiled':>14}")
    for program in parser.parse_args().programs:
        with tempfile.TemporaryDirectory() as name:
            rounds = [
                (measured(program, Path(name)), *profiled(program, Path(name)))
                for _ in range(ROUNDS)
            ]
        ours, whole, own = (statistics.median(shares) for shares in zip(*rounds, strict=True))
        points = (ours - own) * 100
        print(f"{program.stem:24}{ours:10.1%}{points:+8.1f}{whole:10.1%}{own:14.1%}")


if __name__ == "__main__":
    main()
