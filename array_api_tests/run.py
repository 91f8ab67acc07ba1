"""Run the public array-api-tests suite against dispatch_xp.

    python array_api_tests/run.py --suite PATH [--policy NAME] [--backend NAME] [-- PYTEST_ARGS]

PATH is a checkout of https://github.com/data-apis/array-api-tests with its submodule. Routing is
forced by the configuration, so that the suite's small arrays reach the backends; without a policy
and a backend, ``reference`` runs everything.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
VERSION = "2025.12"


def parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    made = argparse.ArgumentParser(description="Run array-api-tests against dispatch_xp.")
    made.add_argument("--suite", required=True, type=Path, help="the suite's checkout")
    made.add_argument("--policy", help="reference, random, threshold, ...")
    made.add_argument("--backend", help="one backend for all: threads, torch, ...")
    made.add_argument("--examples", type=int, default=100, help="examples of each test")
    made.add_argument("rest", nargs="*", help="arguments for pytest, after --")
    return made


def environment(policy: str | None, backend: str | None) -> dict[str, str]:
    """Return the environment that forces the routing."""
    chosen = dict(os.environ)
    chosen["ARRAY_API_TESTS_MODULE"] = "dispatch_xp"
    chosen["ARRAY_API_TESTS_VERSION"] = VERSION
    # one thread per pool: the arrays are small, and pools that spin only cost time
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        chosen.setdefault(name, "1")
    if policy is None and backend is None:
        backend = "reference"
    chosen["DISPATCH_XP_BACKEND"] = backend or "auto"
    if policy is not None:
        chosen["DISPATCH_XP_POLICY"] = policy
    return chosen


def main(arguments: list[str] | None = None) -> int:
    """Run the suite; return pytest's exit code."""
    given = parser().parse_args(arguments)
    suite = given.suite.resolve()
    if not (suite / "array_api_tests" / "__init__.py").is_file():
        print(f"{suite} is not a checkout of array-api-tests", file=sys.stderr)
        return 2
    command = [sys.executable, "-m", "pytest", "-q", "array_api_tests"]
    command += ["--xfails-file", str(HERE / "xfails.txt")]
    command += ["--hypothesis-disable-deadline", "--max-examples", str(given.examples), *given.rest]
    return subprocess.run(
        command, cwd=suite, env=environment(given.policy, given.backend), check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
