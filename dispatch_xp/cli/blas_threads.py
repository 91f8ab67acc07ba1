"""What ``calibrate`` and ``status`` say of the number of BLAS threads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dispatch_xp.blas_threads import (
    Advice,
    BlasThreads,
    Choice,
    SizeRange,
    advice,
    overall,
    per_operation,
    per_size,
)

__all__ = ["sentences"]

_NAMES = {"numpy": "NumPy", "scipy": "SciPy"}


def sentences(found: Sequence[BlasThreads], environ: Mapping[str, str]) -> list[str]:
    """Return what the comparison says, a line each, and what to set.

    Parameters
    ----------
    found : sequence of BlasThreads
        From the machine profile.
    environ : mapping
        The variables that are set now.
    """
    if not found:
        return ["no BLAS library was found whose threads can be counted: nothing to choose"]
    lines = [line for each in found for line in _findings(each)]
    for each in advice(found):
        lines.extend(_advised(each, environ))
    load = next((each.load for each in found if each.load and each.timings), "")
    if load:
        lines.append(f"the machine was busy ({load}), which makes fewer threads look better")
    return lines


def _findings(found: BlasThreads) -> Iterator[str]:
    chosen = overall(found)
    who = " and ".join(_NAMES.get(user, user) for user in found.users)
    who += " in turn" if found.in_turn else ""
    who += f" ({found.library})"
    if chosen is None:
        if found.in_turn and found.threads == 1:
            return
        if found.threads == 1:
            yield f"{who}: one thread, nothing to choose"
        elif len(found.counts) < 2:
            yield f"{who}: {found.threads} threads, and the number can't be changed from Python"
        else:
            yield f"{who}: there was no time to compare"
        return
    if chosen.threads == chosen.than:
        yield f"{who}: {_threads(found.threads)}, as now; no other number is faster overall"
    else:
        yield f"{who}: {_threads(chosen.threads)} {_faster(chosen)} overall"
    ranges = per_size(found)
    if ranges:
        sizes = sorted({timing.size for timing in found.timings})
        parts = [f"{_threads(each.choice.threads)} {_faster(each.choice)} {_where(each, sizes)}"
                 for each in ranges]  # fmt: skip
        yield f"  {', '.join(parts)}"
    for operation, choice in per_operation(found).items():
        yield f"  {operation}: {_threads(choice.threads)} {_faster(choice)}"


def _threads(count: int) -> str:
    return "one thread" if count == 1 else f"{count} threads"


def _faster(choice: Choice) -> str:
    verb = "is" if choice.threads == 1 else "are"
    digits = 1 if choice.gain < 10 else 0
    return f"{verb} {choice.gain:.{digits}f} times as fast as {choice.than}"


def _where(each: SizeRange, sizes: Sequence[int]) -> str:
    if each.smallest == sizes[0]:
        return f"up to n = {each.largest}"
    if each.largest == sizes[-1]:
        return f"from n = {each.smallest}"
    if each.smallest == each.largest:
        return f"at n = {each.smallest}"
    return f"from n = {each.smallest} to {each.largest}"


def _advised(found: Advice, environ: Mapping[str, str]) -> Iterator[str]:
    variable = found.variable
    cases = [(found.choice, "")]
    if found.in_turn is not None:
        cases = [
            (found.choice, " for a program that calls one of them"),
            (found.in_turn, " for a program that calls both in turn"),
        ]
    for wanted, whom in cases:
        setting = f"{variable}={wanted.threads}"
        if environ.get(variable) == str(wanted.threads):
            yield f"{setting} is set, the best{whom}"
        elif wanted.threads == wanted.than:
            yield f"the present number is fine{whom}"
        else:
            yield f"set {setting} before Python starts{whom}; `dispatch-xp run` passes it on"
    if any(wanted.threads != wanted.than for wanted, _ in cases):
        yield (
            "with another number, calibrate again: the speed curves are those of "
            f"{_threads(found.choice.than)}"
        )
