"""Traces: what is written is read again, whatever happened to the program or the file."""

from __future__ import annotations

import gzip
import json
import signal

import numpy as np
import pytest

from dispatch_xp.errors import TraceError
from dispatch_xp.trace.reader import read
from dispatch_xp.trace.record import Header, Record, literal


def records(path):
    return [record for record in read(path) if isinstance(record, Record)]


def test_every_call_is_a_record_that_becomes_a_call_again(dispatch, calls, tmp_path):
    path = tmp_path / "trace.jsonl.gz"
    dispatch("run", "-q", "--backend", "reference", "--trace", path, calls)
    found = {record.operation: record for record in records(path)}
    call = found["linalg.solve"].call()
    assert call.shapes == ((60, 60), (60, 60))
    assert call.dtype == np.float64
    assert call.workload.flops > 60**3
    assert found["linalg.solve"].where.endswith("calls.py:8")
    assert found["exp"].seconds > 0


def test_a_record_knows_whose_transform_it_was(dispatch, tmp_path):
    path = tmp_path / "trace.jsonl.gz"
    code = "import numpy as np, scipy.fft\nx = np.ones((64, 64))\nnp.fft.fft2(x), scipy.fft.fft2(x)"
    dispatch("run", "-q", "--backend", "reference", "--trace", path, "-c", code)
    layouts = [r.call().layout for r in records(path) if r.operation == "fft.fftn"]
    assert layouts == ["grid-numpy", "grid"]


def test_a_killed_program_leaves_a_whole_trace(dispatch, tmp_path):
    path = tmp_path / "trace.jsonl.gz"
    code = f"import os, numpy; os.kill(os.getpid(), {int(signal.SIGKILL)})"
    dispatch("run", "--trace", path, "-c", code, code=-signal.SIGKILL)
    assert [type(record) for record in read(path)] == [Header]


def test_a_full_disk_is_a_message(start, dispatch, calls):
    done = dispatch("run", "--trace", "/dev/full", calls)
    assert done.stdout == start(calls).stdout
    assert "/dev/full: No space left on device" in done.stderr


def test_children_write_to_the_same_file(dispatch, script, tmp_path):
    path = tmp_path / "trace.jsonl.gz"
    program = script(
        "import multiprocessing as mp, numpy as np\n"
        "def work(n): return float(np.linalg.inv(np.eye(n)).sum())\n"
        "if __name__ == '__main__':\n"
        "    with mp.get_context('spawn').Pool(2) as pool:\n"
        "        print(pool.map(work, [30, 40, 50]))\n"
        "        pool.close()\n"
        "        pool.join()\n"
    )
    done = dispatch("run", "--backend", "reference", "--trace", path, program)
    assert done.stdout == "[30.0, 40.0, 50.0]\n"
    shapes = [r.shapes for r in records(path) if r.operation == "linalg.inv"]
    assert sorted(shapes) == [[[30, 30]], [[40, 40]], [[50, 50]]]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "holds no trace"),
        (b"{}\n", "line 1"),
        (b'{"type":"process","pid":1,"schema":99}\n', "newer version"),
        (gzip.compress(b"[1]\n", mtime=0), "line 1"),
    ],
)
def test_what_is_no_trace_is_named(tmp_path, content, said):
    path = tmp_path / "trace"
    path.write_bytes(content)
    with pytest.raises(TraceError, match=said) as error:
        list(read(path))
    assert str(path) in str(error.value)


def test_options_are_literals():
    from ast import literal_eval

    options = {"axis": (0, 1), "ord": np.inf, "n": np.int64(3), "mode": "full", "x": None}
    assert literal_eval(literal(options)) == {**options, "n": 3}


def test_estimate_says_what_the_published_machine_would_save(dispatch, tmp_path):
    header = {"type": "process", "pid": 1, "schema": 1}
    call = {
        "type": "call", "pid": 1, "thread": 1, "at": 1.0, "seconds": 12.0, "function": "f",
        "where": "", "backend": "reference", "reason": "", "operation": "linalg.eigh",
        "dtype": "float64", "shapes": [[6000, 6000]], "itemsizes": [8],
        "options": "{'lower': True}",
    }  # fmt: skip
    path = tmp_path / "trace.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in (header, call)))
    out = dispatch("estimate", path, "--profile", "rtx5080-ryzen9950x3d", "--json").stdout
    result = json.loads(out)
    assert result["reference"] == pytest.approx(11.10, abs=0.005)
    level5 = result["levels"][4]
    assert level5["offloaded"] == {"cupy": 1}
    assert level5["startup"] == pytest.approx(0.36438)
    assert level5["seconds"] - level5["startup"] == pytest.approx(2.23, abs=0.005)


def test_estimate_without_a_profile_says_which_there_are(dispatch, tmp_path):
    path = tmp_path / "trace.jsonl"
    path.write_text('{"type":"process","pid":1,"schema":1}\n')
    assert "rtx5080" in dispatch("estimate", path, code=2).stderr
