"""Running a test suite of another project, as it comes and routed, and comparing test by test.

Run as a program it prints one row per suite and policy::

    python tests/foreign/suites.py --policy random numpy.fft numpy.linalg
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from differences import DIFFERENCES, Difference

__all__ = ["POLICIES", "SUITES", "changes", "outcomes", "unexpected"]


class Outcome(NamedTuple):
    """How a test ended: ``"passed"``, ``"failed"``, ``"skipped"`` or ``"missing"``."""

    kind: str
    text: str = ""


Outcomes = Mapping[str, Outcome]
Changes = Mapping[str, tuple[Outcome, Outcome]]
_MISSING = Outcome("missing")
_FAR = re.compile(r"Max (?:absolute|relative) difference[^:]*: (\S+)")

SUITES: Mapping[str, tuple[str, ...]] = {
    "numpy.linalg": ("numpy.linalg",),
    "numpy.fft": ("numpy.fft",),
    "numpy._core": tuple(f"numpy._core.tests.test_{x}" for x in ("ufunc", "umath", "multiarray")),
    "scipy.fft": ("scipy.fft",),
    "scipy.linalg": ("scipy.linalg",),
    "sklearn.decomposition": ("sklearn.decomposition",),
    "sklearn.linear_model": ("sklearn.linear_model",),
    "sklearn.cluster": ("sklearn.cluster",),
}
POLICIES: Mapping[str, tuple[str, ...]] = {
    "threads": ("--dispatch-backend", "threads"),
    "torch": ("--dispatch-backend", "torch"),
    "random": ("--dispatch-policy", "random"),
    "auto": ("--dispatch-backend", "auto"),
}


def outcomes(
    suite: str,
    folder: Path,
    policy: str | None = None,
    options: Sequence[str] = (),
    variables: Mapping[str, str] | None = None,
) -> Outcomes:
    """Run a suite in a process of its own.

    Parameters
    ----------
    suite : str
        One of `SUITES`.
    folder : Path
        An empty folder, outside of any checkout.
    policy : str, optional
        One of `POLICIES`; unrouted without it.
    options : sequence of str
        For pytest.
    variables : mapping of str to str, optional
        Added to the environment.

    Raises
    ------
    RuntimeError
        If pytest did not come to an end.
    """
    report = folder / f"{policy or 'unrouted'}.xml"
    routed = () if policy is None else ("-p", "dispatch_xp.pytest_plugin", *POLICIES[policy])
    command = [
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}",
        *routed, *options, "--pyargs", *SUITES[suite],
    ]  # fmt: skip
    environment = {
        # more libraries than one compute here, and their thread pools would wait for each other
        **{f"{x}_NUM_THREADS": "1" for x in ("OMP", "OPENBLAS", "MKL")},
        "DISPATCH_XP_BACKENDS": "threads,torch",
        **os.environ,
        **(variables or {}),
    }
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if run.returncode not in (0, 1):
        raise RuntimeError(f"pytest ended with {run.returncode}:\n{run.stdout}\n{run.stderr}")
    return _read(report)


def _read(report: Path) -> Outcomes:
    found = {}
    for case in ET.parse(report).getroot().iter("testcase"):
        children = {child.tag: child for child in case}
        broken = [children[tag] for tag in ("failure", "error") if tag in children]
        kind = "failed" if broken else "skipped" if "skipped" in children else "passed"
        text = "\n".join(f"{child.get('message')}\n{child.text}" for child in broken)
        found[f"{case.get('classname')}::{case.get('name')}"] = Outcome(kind, text)
    return found


def changes(unrouted: Outcomes, routed: Outcomes) -> Changes:
    """Return the tests that did not end alike, with both outcomes."""
    changed = {}
    for test in sorted({*unrouted, *routed}):
        before, after = unrouted.get(test, _MISSING), routed.get(test, _MISSING)
        if before.kind != after.kind:
            changed[test] = (before, after)
    return changed


def unexpected(suite: str, policy: str, changed: Changes) -> list[str]:
    """Return what changed and is not on the list of differences, or by more than it says."""
    known = [d for d in DIFFERENCES if d.suite == suite and policy in d.policies]
    return [
        f"{test}: {before.kind} -> {after.kind}{_distance(after)}"
        for test, (before, after) in changed.items()
        if not any(
            d.ends == (before.kind, after.kind)
            and re.search(d.tests, test)
            and _is_within(d, after)
            for d in known
        )
    ]


def _is_within(difference: Difference, outcome: Outcome) -> bool:
    """Whether the numbers that a test complains of are as close as rounding leaves them."""
    if difference.largest is None:
        return True
    # the absolute and the relative one are told; near zero the second says nothing
    told = [float(x) for x in _FAR.findall(outcome.text)]
    return bool(told) and all(x == x for x in told) and min(told) <= difference.largest


def _distance(outcome: Outcome) -> str:
    told = _FAR.findall(outcome.text)
    return f", {min(told, key=float)} apart" if told else ""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("suites", nargs="*", default=list(SUITES), choices=list(SUITES))
    parser.add_argument("--policy", action="append", choices=list(POLICIES))
    parser.add_argument("--option", action="append", default=[], help="for pytest, as --option=-x")
    chosen = parser.parse_args()
    print("python", sys.version.split()[0], "numpy", np.__version__, file=sys.stderr)
    bad = 0
    for suite in chosen.suites:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            unrouted = outcomes(suite, folder, None, chosen.option)
            print(f"{suite:22} unrouted  {_counts(unrouted)}", flush=True)
            for policy in chosen.policy or POLICIES:
                begun = time.monotonic()
                routed = outcomes(suite, folder, policy, chosen.option)
                seconds = time.monotonic() - begun
                print(f"{suite:22} {policy:8}  {_counts(routed)}  {seconds:.0f} s", flush=True)
                surprises = unexpected(suite, policy, changes(unrouted, routed))
                bad += len(surprises)
                for line in surprises:
                    print(f"    {line}", flush=True)
    return min(bad, 1)


def _counts(found: Outcomes) -> str:
    counts = Counter(outcome.kind for outcome in found.values())
    return ", ".join(f"{counts[key]} {key}" for key in ("passed", "failed", "skipped"))


if __name__ == "__main__":
    sys.exit(main())
