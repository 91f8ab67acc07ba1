"""``status`` says what is there, what is missing, what is set, and what may be in the way."""

from __future__ import annotations

import json

import pytest

from dispatch_xp import quiet_pools
from dispatch_xp.backends.cupy import CupyBackend
from dispatch_xp.backends.interface import Availability
from dispatch_xp.backends.threads import ThreadsBackend
from dispatch_xp.cli import status
from dispatch_xp.profile import BackendProfile, Copy, Machine, Profile, this_machine, write

BLAS = {"library": "openblas 0.3", "threads": 4, "file": "/a/libopenblas.so"}
OPENMP = {"library": "openmp", "threads": 4, "file": "/a/libgomp.so"}
TORCH = {"name": "torch", "available": True, "used": True}


def test_the_choice(call, monkeypatch):
    assert "policy           cost-model" in call("status").output
    monkeypatch.setenv("DISPATCH_XP_POLICY", "random")
    assert "policy           random" in call("status").output
    monkeypatch.setenv("DISPATCH_XP_BACKEND", "threads")
    assert "backend          threads, whatever the policy" in call("status").output
    report = json.loads(call("status", "--json").output)
    assert report["choice"] == {"backend": "threads", "policy": "random"}


def test_json_has_everything_that_the_text_has(call):
    report = json.loads(call("status", "--json").output)
    assert set(report) == {
        "version", "backends", "profile", "level", "choice", "doors", "functions_without_door",
        "thread_pools", "thread_pool_advice", "settings", "sources",
    }  # fmt: skip
    assert report["sources"]["backends"] == "DISPATCH_XP_BACKENDS"
    assert report["level"] == {"level": 5, "speedup": 1.3, "others_load": 0.59}
    assert all({"door", "count", "problem"} == set(door) for door in report["doors"])
    assert any("openblas" in pool["library"] or pool["file"] for pool in report["thread_pools"])


def test_a_probe_that_fails_hides_nothing_else(call, monkeypatch):
    def probe(self):
        raise RuntimeError("out of luck")

    monkeypatch.setattr(ThreadsBackend, "probe", probe)
    text = call("status").output
    assert "its probe failed: RuntimeError('out of luck')" in text
    assert "thread pool" in text


@pytest.mark.parametrize(
    ("load", "problem", "line"),
    [
        (0.72, "", "cupy: 72% used by others, 59% allowed"),
        (None, "NVML: Not Supported", "cupy: use by others is not known: NVML: Not Supported"),
        (None, "", None),
    ],
)
def test_other_programs_on_a_device(call, monkeypatch, load, problem, line):
    monkeypatch.setenv("DISPATCH_XP_BACKENDS", "threads,cupy")
    monkeypatch.setattr(CupyBackend, "probe", lambda self: Availability(True, "", "a fake"))
    monkeypatch.setattr(CupyBackend, "others_load", lambda self, wait: load)
    monkeypatch.setattr(CupyBackend, "others_problem", lambda self: problem)
    text = call("status").output
    assert ("by others" in text) == (line is not None)
    assert (line or "") in text
    report = json.loads(call("status", "--json").output)
    (cupy,) = [b for b in report["backends"] if b["name"] == "cupy"]
    assert (cupy["others_load"], cupy["others_problem"]) == (load, problem)


@pytest.mark.parametrize(
    ("pools", "backends", "advice"),
    [
        ([BLAS], [], False),
        ([BLAS | {"threads": 1}, BLAS | {"threads": 1}], [], False),
        ([BLAS, BLAS], [], True),
        ([BLAS], [TORCH], True),
        ([BLAS, OPENMP], [TORCH], True),
        ([BLAS], [TORCH | {"available": False}], False),
        ([BLAS], [TORCH | {"used": False}], False),
    ],
)
@pytest.mark.parametrize("quiet", [False, True])
def test_advice_on_thread_pools(monkeypatch, pools, backends, advice, quiet):
    for name, value in quiet_pools.VARIABLES.items():
        if quiet:
            monkeypatch.setenv(name, value.lower())
        else:
            monkeypatch.delenv(name, raising=False)
    said = "\n".join(status._advice(pools, backends))
    assert bool(said) == advice
    assert ("OMP_WAIT_POLICY=PASSIVE OPENBLAS_THREAD_TIMEOUT=20 set" in said) == (
        advice and not quiet
    )
    assert ("OMP_WAIT_POLICY=passive OPENBLAS_THREAD_TIMEOUT=20 is set" in said) == (
        advice and quiet
    )
    assert ("one more" in said) == (TORCH in backends and OPENMP not in pools)


def test_a_profile_of_another_machine(call, monkeypatch, tmp_path):
    path = tmp_path / "profile.json"
    write(Profile(Machine("abacus", "wood", 1), {}), path)
    monkeypatch.setenv("DISPATCH_XP_PROFILE", str(path))
    text = " ".join(call("status").output.split())
    assert "is of another machine (cpu 'abacus'" in text
    assert "`auto` keeps everything on the reference" in text


def test_how_fast_copies_are(call, monkeypatch, tmp_path):
    path = tmp_path / "profile.json"
    ways = [Copy(1e-5, rate * 1e9) for rate in (6.0, 5.5, 24.25)]
    figures = {
        "cupy": BackendProfile("", 1.0, 0.0, *ways),
        "dpnp": BackendProfile("", 1.0, 0.0, *ways[:2]),
        "threads": BackendProfile(),
    }
    write(Profile(this_machine(), {}, figures), path)
    monkeypatch.setenv("DISPATCH_XP_PROFILE", str(path))
    lines = [line.strip() for line in call("status").output.splitlines() if ": copies" in line]
    assert lines == [
        "cupy: copies in 6.0 GB/s, in from page-locked memory 24.2 GB/s, out 5.5 GB/s",
        "dpnp: copies in 6.0 GB/s, out 5.5 GB/s",
    ]
    report = json.loads(call("status", "--json").output)
    assert report["profile"]["backends"]["threads"]["copies"] == {}
    assert report["profile"]["backends"]["cupy"]["copies"]["page_locked_in"] == 24.25e9


def test_as_a_program(program):
    done = program("status")
    assert "\x1b" not in done.stdout
    assert "\r" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 160
    assert done.stderr == ""
