"""``dispatch-xp run``: the program sees what it sees under ``python``, and its calls are routed."""

from __future__ import annotations

import json
import os
import signal

import pytest

SEEN = """
import __main__, sys
print(sys.argv, __name__, sys.path, __main__.__spec__ is None, __doc__, sorted(vars(__main__)))
print(sys.stdin.read() if "stdin" in sys.argv else "")
"""
FORMS = {
    "script": ("seen.py", "-l", "3", "--backend", "nothing", "-q", "-h"),
    "module": ("-m", "seen", "-l", "x"),
    "joined": ("-mseen", "-q"),
    "code": ("-c", SEEN, "-c", "-m"),
    "standard input": ("-", "one", "--two"),
    "script reading": ("seen.py", "stdin"),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_program_sees_what_it_sees_under_python(start, dispatch, script, form):
    script(SEEN, "seen.py")
    given = SEEN if form == "standard input" else "some\ntext"
    plain = start(*FORMS[form], given=given)
    routed = dispatch("run", *FORMS[form], given=given)
    assert routed.stdout == plain.stdout
    assert routed.stderr == "dispatch-xp: the program did not import NumPy\n"


@pytest.mark.parametrize(
    "text",
    [
        "import sys, numpy\nsys.exit(7)",
        "import sys, numpy\nsys.exit('a message')",
        "import numpy\ndef f():\n    return numpy.linalg.inv(numpy.zeros((3, 3)))\nf()",
        "import numpy\nassert False, 'no'",
        "def f(:\n",
        "raise KeyboardInterrupt",
    ],
)
def test_exit_codes_and_tracebacks_are_those_of_python(start, dispatch, script, text):
    path = script(text)
    plain = start(path, code=None)
    routed = dispatch("run", "-q", "--backend", "threads", path, code=plain.returncode)
    # a door is one more frame
    frames = [line for line in routed.stderr.splitlines() if "<dispatch_xp door" not in line]
    assert "\n".join(frames) == plain.stderr.rstrip("\n")


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX's")
def test_a_signal_ends_the_program_as_it_ends_python(dispatch):
    code = f"import os, numpy; os.kill(os.getpid(), {signal.SIGTERM.value})"
    dispatch("run", "-c", code, code=-signal.SIGTERM)


def test_calls_are_routed_and_counted(start, dispatch, calls, tmp_path):
    plain = start(calls)
    report = tmp_path / "report.json"
    done = dispatch("run", "--backend", "threads", "--json", report, calls)
    assert done.stdout == plain.stdout
    assert "threads" in done.stderr
    shares = json.loads(report.read_bytes())["shares"]
    # exp alone: threads have neither the product of two matrices nor the solution of one system
    assert shares["threads"]["calls"] >= 1
    assert shares["threads"]["seconds"] > 0


def test_quiet_says_nothing(dispatch, calls):
    assert dispatch("run", "-q", "--backend", "threads", calls).stderr == ""


def test_a_program_without_numpy_is_told_from_one_with_small_calls(dispatch):
    assert "did not import NumPy" in dispatch("run", "-c", "pass").stderr
    assert "none" in dispatch("run", "-c", "import numpy").stderr


def test_without_a_profile_the_summary_says_what_to_do(dispatch, calls):
    assert "run `dispatch-xp calibrate`" in dispatch("run", calls).stderr


def test_verify_compares_and_keeps_the_results_of_the_reference(start, dispatch, calls, tmp_path):
    report = tmp_path / "report.json"
    done = dispatch("run", "--backend", "threads", "--verify", "--json", report, calls)
    assert done.stdout == start(calls).stdout
    assert "largest relative difference" in done.stderr
    compared = json.loads(report.read_bytes())["comparisons"]["exp"]
    assert compared["calls"] >= 1
    assert compared["mismatches"] == 0


def test_policy_level_and_configuration_reach_the_program(dispatch, script):
    config = script('fallback = "warn"\n', "own.toml")
    code = (
        "import numpy; from dispatch_xp.state import PROCESS; s = PROCESS.default.settings; "
        "print(s.policy, s.level, s.fallback, s.backend)"
    )
    options = ("--policy", "random", "-l", "9", "--config", config)
    assert dispatch("run", *options, "-c", code).stdout == "random 9 warn auto\n"


def test_the_pools_are_quiet_unless_the_user_says_otherwise(dispatch):
    code = "import os; print(os.environ['OMP_WAIT_POLICY'], os.environ['OPENBLAS_THREAD_TIMEOUT'])"
    assert dispatch("run", "-c", code).stdout == "PASSIVE 20\n"
    assert dispatch("run", "-c", code, OMP_WAIT_POLICY="ACTIVE").stdout == "ACTIVE 20\n"
    assert dispatch("run", "-c", code, OPENBLAS_THREAD_TIMEOUT="9").stdout == "PASSIVE 9\n"


def test_what_the_program_says_itself_wins(dispatch):
    code = (
        "import numpy as np, dispatch_xp\n"
        "with dispatch_xp.backend('reference'): np.exp(np.ones(10**5))"
    )
    done = dispatch("run", "--backend", "threads", "-c", code)
    assert "threads" not in done.stderr


def test_a_sitecustomize_that_is_hidden_runs(dispatch, script, tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text("print('theirs')")
    code = "import sys, sitecustomize; print(sitecustomize.__file__)"
    out = dispatch("run", "-c", code, PYTHONPATH=str(folder)).stdout
    assert out.splitlines()[0] == "theirs"
    assert out.splitlines()[-1] == str(folder / "sitecustomize.py")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--backend", "torhc", "-c", "print(1)"), "did you mean 'torch'?"),
        (("--policy", "costmodel", "-c", "print(1)"), "did you mean 'cost-model'?"),
        (("-l", "11", "-c", "print(1)"), "11 is not in the range"),
        (("--config", "nothing.toml", "-c", "print(1)"), "nothing.toml"),
        (("--trace", "/proc/nothing/file", "-c", "print(1)"), "/proc/nothing"),
        ((), "there is no program"),
    ],
)
def test_bad_input_is_named_before_the_program_starts(dispatch, arguments, said):
    done = dispatch("run", *arguments, code=2)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
