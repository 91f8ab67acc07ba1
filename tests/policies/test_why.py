"""A decision says why: its own words, or what the predictions promise."""

from __future__ import annotations

import pytest

from dispatch_xp.decision import REFERENCE, Decision, Prediction, stay
from dispatch_xp.reasons import Reason

TIMES = {
    REFERENCE: Prediction(4.0),
    "torch": Prediction(1.0, copy_in=1.0),
    "threads": Prediction(0.5, copy_in=0.5, copy_out=0.25),
}


@pytest.mark.parametrize(
    ("decision", "why"),
    [
        (
            Decision("torch", Reason.FASTEST, "", TIMES, 1.3),
            "torch 2.00 times as fast, 1.3 required",
        ),
        (
            Decision(REFERENCE, Reason.NOT_FASTER, "", TIMES, 4.0),
            "threads 3.20 times as fast, 4 required",
        ),
        (
            Decision("none", Reason.NOT_FASTER, "", {**TIMES, "none": Prediction(0.0)}, 1.0),
            "none 1.00 times as fast, 1 required",
        ),
        (Decision("torch", Reason.PROBE, "tried again", TIMES, 1.3), "tried again"),
        (stay(Reason.DTYPE, "object"), "object"),
        (Decision("torch", Reason.FIXED), ""),
        (Decision(REFERENCE, Reason.NOT_FASTER, "", {REFERENCE: Prediction(4.0)}), ""),
        (Decision("torch", Reason.FASTEST, "", {"torch": Prediction(4.0)}), ""),
    ],
)
def test_why(decision, why):
    assert decision.why == why


def test_the_reference_finishes_with_the_figures():
    decision = Decision("torch", Reason.FASTEST, "", TIMES, 1.3)
    ended = decision.ended(Reason.FAILED, "torch: run: no")
    assert (ended.backend, ended.reason, ended.why) == (REFERENCE, Reason.FAILED, "torch: run: no")
    assert (ended.predictions, ended.required_speedup) == (TIMES, 1.3)
    assert ended.standing is None
