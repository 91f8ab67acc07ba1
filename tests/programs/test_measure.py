"""``dispatch-xp measure``: everything on the reference, and who could have taken it."""

from __future__ import annotations

import json
import math

PROGRAM = """
import numpy as np, scipy.linalg, dispatch_xp
from dispatch_xp.state import PROCESS

a = np.random.default_rng(0).standard_normal((200, 200))
with dispatch_xp.backend("threads"):
    for _ in range(3):
        q, r = scipy.linalg.qr(a)
    e = np.exp(q)
np.linalg.inv(np.zeros((0, 0)))
"""


def test_calls_are_grouped_by_what_they_are_and_where(dispatch, script, tmp_path):
    path, report = script(PROGRAM), tmp_path / "report.json"
    done = dispatch("measure", "--json", report, path)
    assert "that a backend could take" in done.stderr
    found = json.loads(report.read_bytes())
    groups = {group["operation"]: group for group in found["groups"]}
    qr, exp = groups["linalg.qr"], groups["exp"]
    assert (qr["calls"], qr["size"], qr["dtype"]) == (3, 4, "float64")
    assert qr["where"] == f"{path}:8"
    # not installed here, and named all the same
    assert "cupy" in qr["takers"]
    assert "threads" in exp["takers"]
    assert qr["seconds"] > 0
    assert exp["seconds"] > 0
    assert found["seconds_in_calls"] == sum(g["seconds"] for g in found["groups"])
    assert 0 < found["share"] < 1
    assert found["others"] == {"size zero": 1}


def test_copies_that_residency_saves_are_counted_once_each(dispatch, script, tmp_path):
    report = tmp_path / "report.json"
    dispatch("measure", "-q", "--json", report, script(PROGRAM))
    found = json.loads(report.read_bytes())
    matrix = 200 * 200 * 8
    # three times a, and q; six factors, and e
    assert found["bytes_in"] == 4 * matrix
    assert found["bytes_out"] == 7 * matrix
    # a twice, then q without its way out and in; memory that is given away may come again
    assert 4 * matrix <= found["kept"] <= found["bytes_in"] + found["bytes_out"]


def test_nothing_is_routed_whatever_the_program_says(dispatch, script, tmp_path):
    trace = tmp_path / "trace.jsonl.gz"
    dispatch("measure", "-q", "--trace", trace, script(PROGRAM))
    from dispatch_xp.trace.reader import read

    assert {getattr(record, "backend", "reference") for record in read(trace)} == {"reference"}


def test_children_are_measured_too(dispatch, tmp_path):
    report = tmp_path / "report.json"
    child = "import numpy as np; np.linalg.inv(np.eye(50))"
    code = f"import subprocess, sys, numpy; subprocess.run([sys.executable, '-c', {child!r}])"
    dispatch("measure", "-q", "--json", report, "-c", code)
    found = json.loads(report.read_bytes())
    assert found["processes"] == 2
    assert [group["operation"] for group in found["groups"]] == ["linalg.inv"]


def test_updates_in_place_are_measured_and_their_memory_may_stay(dispatch, tmp_path):
    report = tmp_path / "report.json"
    code = """
import numpy as np
x, y = np.ones(10**5), np.ones(10**5)
for _ in range(3):
    x += y
np.exp(x, out=x)
print(x[0])
"""
    done = dispatch("measure", "--json", report, "-c", code)
    assert done.stdout == f"{math.exp(4)}\n"
    found = json.loads(report.read_bytes())
    groups = {group["operation"]: group for group in found["groups"]}
    assert {name: group["calls"] for name, group in groups.items()} == {"add": 3, "exp": 1}
    assert groups["exp"]["seconds"] > 0
    each = 8 * 10**5
    assert (found["bytes_in"], found["bytes_out"]) == (7 * each, 4 * each)
    # x goes in once and is there from then on, and y twice more
    assert found["kept"] == 8 * each


def test_what_measuring_takes_is_not_the_program_s(dispatch, tmp_path):
    report = tmp_path / "report.json"
    code = """
import time, numpy as np
a = np.ones(20)
began = time.perf_counter()
for _ in range(5000):
    np.sum(a)
print(time.perf_counter() - began)
"""
    done = dispatch("measure", "-q", "--json", report, "-c", code)
    found = json.loads(report.read_bytes())
    (group,) = found["groups"]
    assert (group["operation"], group["calls"]) == ("sum", 5000)
    loop = float(done.stdout)
    assert 0 < found["measuring"] < loop
    # what is left of the loop, and what is left of the whole run
    assert group["seconds"] < loop - found["measuring"]
    assert found["seconds"] > group["seconds"]
    assert found["share"] == found["seconds_in_calls"] / found["seconds"]
