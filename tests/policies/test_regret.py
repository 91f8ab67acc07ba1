"""Regret on simulated machines: what the model's choices cost, against the best in hindsight.

A simulated machine has true time curves, copies, start-ups, changes of thread pools and device
memory. A profile is made of it as calibration would, with noise. Calls are then decided by the real
router and the real cost model, "run" by advancing a clock, and observed. The oracle knows the true
times and all calls beforehand.
"""

from __future__ import annotations

import math
import runpy
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from dispatch_xp import residency, router
from dispatch_xp.backends import Backend
from dispatch_xp.backends.interface import Availability, Memory
from dispatch_xp.call import Call
from dispatch_xp.config import Settings
from dispatch_xp.curve import Point
from dispatch_xp.decision import REFERENCE, Decision
from dispatch_xp.levels import LEVELS
from dispatch_xp.operations import BLAS, OPERATIONS
from dispatch_xp.policies.cost_model import CostModelPolicy
from dispatch_xp.policies.fixed import FixedPolicy
from dispatch_xp.policies.interface import Policy
from dispatch_xp.profile import BackendProfile, Copy, Machine, Profile
from dispatch_xp.state import State

LEVEL = 5
SEEDS = (1, 2)
PUBLISHED = runpy.run_path(str(Path(__file__).parents[1] / "profile" / "conftest.py"))


# --- machines


@dataclass(frozen=True)
class Truth:
    """What is true of a backend; the reference is one without copies, start and memory.

    ``computing`` gives the seconds of a call without copies; ``memory`` the total bytes,
    ``free`` how many of them other programs leave at a step, and ``hidden`` how many of those
    can't be had, whatever the device says.
    """

    computing: Callable[[Call], float]
    copy_in: Copy | None = None
    copy_out: Copy | None = None
    startup: float = 0.0
    switch: float = 0.0
    memory: int = 0
    free: Callable[[int], int] | None = None
    hidden: int = 0

    def seconds(self, call: Call) -> float:
        """The seconds of a call, copies included."""
        seconds = self.computing(call)
        if self.copy_in is not None and self.copy_out is not None:
            work = call.workload
            results = len(call.operation.outputs(call.shapes, call.options))
            seconds += self.copy_in.seconds(work.bytes_in, len(call.shapes))
            seconds += self.copy_out.seconds(work.bytes_out, results)
        return seconds

    def holds(self, call: Call, step: int) -> bool:
        """Whether arguments and results fit, with as much again to work in, and some left free."""
        needed = 2 * (call.workload.bytes_in + call.workload.bytes_out)
        left = LEVELS[LEVEL].memory_free * self.memory
        return self.free is None or needed <= self.free(step) - left


class Simulated(Backend):
    """Runs nothing; says how much memory there is, and lets time pass."""

    def __init__(self, truth: Truth) -> None:
        self.truth = truth
        self.now = 0.0
        self.step = 0
        self.failures = 0

    def probe(self):
        return Availability(True)

    def operations(self):
        return frozenset(OPERATIONS)

    def start(self):
        self.started = True
        self.now += self.truth.startup

    def memory(self):
        if self.truth.free is None:
            return None
        return Memory(self.truth.free(self.step), self.truth.memory)

    def run(self, call, arrays):
        truth, work = self.truth, call.workload
        room = math.inf if truth.free is None else truth.free(self.step) - truth.hidden
        if work.bytes_in + work.bytes_out > room:
            self.failures += 1
            self.now += 1e-4
            raise MemoryError("the device is full")
        self.now += truth.seconds(call)
        return tuple(np.broadcast_to(0.0, s) for s in call.operation.outputs(call.shapes, {}))

    def is_finite(self, call, result):
        return True


@dataclass(frozen=True)
class Computer:
    """A machine: the truth by backend, and which (operation, dtype, sizes) calibration measures."""

    truths: dict[str, Truth]
    measured: tuple[tuple[str, str, tuple[int, ...]], ...]
    longest: float = 0.25

    def backends(self) -> tuple[Simulated, ...]:
        """New backends, none of them started unless that costs nothing."""
        found = []
        for name, truth in self.truths.items():
            if name != REFERENCE:
                body = {
                    "name": name,
                    "shares_host_memory": truth.copy_in is None,
                    "modules": ("no_such_module",),
                    "started": truth.startup == 0.0,
                }
                found.append(type(name, (Simulated,), body)(truth))
        return tuple(found)

    def profile(self, seed: int, noise: float) -> Profile:
        """What calibration finds, every figure wrong by the exponential of so much."""
        rng = np.random.default_rng(seed)

        def wrong(x: float) -> float:
            return x * math.exp(rng.normal(0.0, noise))

        def copy(of: Copy | None) -> Copy | None:
            return None if of is None else Copy(wrong(of.fixed), wrong(of.bytes_per_second))

        points: dict = {}
        for operation, dtype, sizes in self.measured:
            for n in sizes:
                call = call_of(operation, n, dtype)
                if self.truths[REFERENCE].seconds(call) > self.longest:
                    break
                layout = points.setdefault(operation, {}).setdefault(call.layout, {})
                curves = layout.setdefault(dtype, {})
                work, elements = call.workload, max(map(math.prod, call.shapes))
                for name, truth in self.truths.items():
                    seconds = wrong(truth.computing(call)) * work.work / work.flops
                    curves.setdefault(name, []).append(Point(work.work, seconds, elements))
        figures = {
            name: BackendProfile(
                "simulated", wrong(t.startup), wrong(t.switch), copy(t.copy_in), copy(t.copy_out)
            )
            for name, t in self.truths.items()
            if name != REFERENCE
        }
        return Profile(Machine("simulated", "simulated", 2), points, figures)


ARGUMENTS = {"matmul": 2, "linalg.solve": 2, "add": 2, "multiply": 2}


def call_of(operation: str, n: int, dtype: str) -> Call:
    """A call with arrays that take no memory: `n` is an order in linear algebra, else elements."""
    if operation in BLAS:
        shapes = PUBLISHED["shapes_of"](operation, n)
    else:
        shapes = ((n,),) * ARGUMENTS.get(operation, 1)
    arrays = tuple(np.broadcast_to(np.ones(1, dtype)[0], shape) for shape in shapes)
    options = {"lower": True} if operation == "linalg.eigh" else {}
    return Call(OPERATIONS[operation], np.dtype(dtype), shapes, options, arrays)


ORDERS = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
ELEMENTS = (1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
# seconds a flop, and the flops that are over before the rate has risen to half of its height
SPEEDS = {
    "matmul": (1.2e-11, 3e5),
    "linalg.solve": (3e-11, 1e6),
    "linalg.eigh": (8e-11, 3e6),
    "linalg.svd": (1e-10, 3e6),
    "exp": (3e-9, 5e2),
    "sin": (5e-9, 5e2),
    "add": (6e-10, 1e3),
    "sqrt": (8e-10, 1e3),
}
MEASURED = tuple(
    (operation, dtype, ORDERS if operation in BLAS else ELEMENTS)
    for operation in SPEEDS
    for dtype in ("float64", "float32")
)


def reference_seconds(call: Call) -> float:
    """Overhead, and a rate that rises with the work; single precision takes half."""
    rate, half = SPEEDS[call.operation.name]
    flops = call.workload.flops
    return 1e-6 + rate * (flops + half**0.5 * flops**0.5) * call.dtype.itemsize / 8


def times(factor: float | dict[str, float], overhead: float) -> Callable[[Call], float]:
    """A backend so many times as fast as the reference, by operation, with its own overhead."""

    def seconds(call: Call) -> float:
        name = call.operation.name
        of = factor.get(name, factor[""]) if isinstance(factor, dict) else factor
        return overhead + reference_seconds(call) / of

    return seconds


BUS = {"copy_in": Copy(8e-6, 1e10), "copy_out": Copy(1e-5, 8e9)}
REFERENCE_TRUTH = Truth(reference_seconds)


def published() -> Computer:
    """The published GPU beside sixteen cores, its curves taken for true."""
    profile = PUBLISHED["read_published"](PUBLISHED["PUBLISHED"])

    def computing(backend: str) -> Callable[[Call], float]:
        def seconds(call: Call) -> float:
            work = call.workload
            return profile.curves[call.curve][backend].seconds(work.work, work.flops)

        return seconds

    gpu = profile.backends["gpu"]
    measured = tuple(
        (name, dtype, tuple(n for n in ORDERS if n >= 64))
        for (name, layout, dtype) in profile.curves
        if layout == "matrix"
    )
    truths = {
        REFERENCE: Truth(computing(REFERENCE)),
        "gpu": Truth(computing("gpu"), gpu.copy_in, gpu.copy_out, gpu.startup),
    }
    return Computer(truths, measured, longest=math.inf)


def hundredfold() -> Computer:
    """A device a hundred times as fast, behind a bus, and threads on the host."""
    return Computer(
        {
            REFERENCE: REFERENCE_TRUTH,
            "threads": Truth(times({"": 1.7, "matmul": 0.9, "linalg.solve": 0.9}, 1.5e-5)),
            "gpu": Truth(times(100.0, 2e-5), **BUS, startup=1.5),
        },
        MEASURED,
    )


def slower() -> Computer:
    """A device that is slower at everything, though for some by less than the noise."""
    speeds = {"": 0.95, "matmul": 0.9, "exp": 0.7, "linalg.eigh": 0.3}
    device = Truth(times(speeds, 2e-5), Copy(8e-6, 1e11), Copy(1e-5, 1e11), startup=0.5)
    return Computer({REFERENCE: REFERENCE_TRUTH, "gpu": device}, MEASURED)


def filling() -> Computer:
    """A fast device with a gigabyte, of which other programs take more and more, in waves."""
    total = 10**9

    def free(step: int) -> int:
        return int(total * (0.65 + 0.3 * math.cos(step / 40)))

    device = Truth(times(20.0, 2e-5), **BUS, startup=0.3, memory=total, free=free)
    return Computer({REFERENCE: REFERENCE_TRUTH, "gpu": device}, MEASURED)


def pools() -> Computer:
    """A library on the host's cores: better at some things, and its threads need quiet."""
    speeds = {"": 4.0, "matmul": 0.9, "linalg.solve": 0.8, "linalg.eigh": 0.7, "linalg.svd": 0.5}
    torch = Truth(times(speeds | {"add": 1.05, "sqrt": 1.0}, 5e-6), startup=1.2, switch=3e-3)
    threads = Truth(times({"": 1.6, "matmul": 0.9, "linalg.solve": 0.9}, 1.5e-5))
    return Computer({REFERENCE: REFERENCE_TRUTH, "threads": threads, "torch": torch}, MEASURED)


# --- programs


def calls_for(computer: Computer, count: int, seed: int, longest: float = 0.5) -> list[Call]:
    """Mixed calls: any operation that was measured, any size that takes the reference so long.

    A program makes the same call again and again, so each is made several times, in places that lie
    close together.
    """
    rng = np.random.default_rng(seed)
    made: list[tuple[float, Call]] = []
    while len(made) < count:
        operation, dtype, sizes = computer.measured[rng.integers(len(computer.measured))]
        n = round(math.exp(rng.uniform(math.log(sizes[0]), math.log(sizes[-1]))))
        call = call_of(operation, n, dtype)
        if computer.truths[REFERENCE].seconds(call) > longest:
            continue
        start = rng.uniform(0.0, 1.0)
        made += [(start + rng.uniform(0.0, 0.02), call) for _ in range(rng.integers(1, 12))]
    return [call for _, call in sorted(made, key=lambda pair: pair[0])]


# --- playing


@dataclass
class Play:
    """How a program went."""

    seconds: float = 0.0
    ran: list[str] = field(default_factory=list)
    failures: int = 0

    @property
    def away(self) -> int:
        return sum(name != REFERENCE for name in self.ran)


def next_pool(pool: str, name: str, call: Call) -> str:
    """Whose threads were awake last; what the reference runs without BLAS leaves them asleep."""
    return name if name != REFERENCE or call.operation.name in BLAS else pool


def play(
    computer: Computer,
    calls: list[Call],
    policy: Policy,
    slowed: Callable[[int], float] = lambda step: 1.0,
) -> Play:
    """Make the calls as the doors do, by the real router, and let the policy observe the times.

    ``slowed(step)`` is how many times as long as it should a call takes.
    """
    backends = computer.backends()
    state = State(policy.settings, policy, backends)
    of = {backend.name: backend for backend in backends}
    made, pool, now = Play(), REFERENCE, 0.0
    for step, call in enumerate(calls):
        for backend in backends:
            backend.step = step
        name, observed = REFERENCE, False
        began = now
        seen = state.standing.get(call.signature)
        if seen is not None and seen.left > 0:
            seen.left -= 1
        elif max(map(math.prod, call.shapes)) >= state.operation_limit(call.operation):
            decision, chosen = router.decide(state, call)
            observed = True
            if chosen is not None:
                before = chosen.now
                results = router.run(state, chosen, call, "simulated")
                now += chosen.now - before
                if not isinstance(results, Decision):
                    name = chosen.name
            elif decision.standing is not None:
                decision.standing.begin()
                state.standing[call.signature] = decision.standing
        if name == REFERENCE:
            # what a backend tried first is in vain, and the reference is not blamed for it
            began = now
            now += computer.truths[REFERENCE].seconds(call)
        elif pool != name:
            now += of[name].truth.switch
        now += (now - began) * (slowed(step) - 1.0)
        if observed:
            policy.observe(call, name, now - began)
        pool = next_pool(pool, name, call)
        made.ran.append(name)
    made.seconds = now
    made.failures = sum(backend.failures for backend in backends)
    return made


def best(computer: Computer, calls: list[Call]) -> float:
    """The least time in hindsight: where each call runs, when a backend starts, when pools change.

    By dynamic programming over what lasts from one call to the next.
    """
    least = {(REFERENCE, frozenset()): 0.0}
    for step, call in enumerate(calls):
        after: dict = {}
        for name, truth in computer.truths.items():
            if not truth.holds(call, step):
                continue
            seconds = truth.seconds(call)
            for (pool, started), so_far in least.items():
                total, running = so_far + seconds, started
                if name not in started and truth.startup:
                    total += truth.startup
                    running = started | {name}
                if pool != name:
                    total += truth.switch
                key = (next_pool(pool, name, call), running)
                after[key] = min(total, after.get(key, math.inf))
        least = after
    return min(least.values())


def plain(computer: Computer, calls: list[Call]) -> float:
    """The time without us."""
    return sum(computer.truths[REFERENCE].seconds(call) for call in calls)


def with_prices(computer: Computer, startup: float, switch: float) -> Computer:
    """The same machine with starts and changes so many times as dear."""
    truths = {
        name: replace(t, startup=startup * t.startup, switch=switch * t.switch)
        for name, t in computer.truths.items()
    }
    return replace(computer, truths=truths)


def waited_for(computer: Computer) -> Computer:
    """The same machine where starts and changes cost what waiting for them does too."""
    return with_prices(computer, 1 + LEVELS[LEVEL].startup_factor, 2)


def model(computer: Computer, seed: int, level: int = LEVEL, noise: float = 0.05) -> Policy:
    return CostModelPolicy(Settings(level=level), computer.profile(seed, noise))


def fixed(name: str) -> Policy:
    return FixedPolicy(Settings(backend=name, level=LEVEL))


@pytest.fixture(autouse=True)
def _no_real_arrays(monkeypatch):
    # the numbers don't exist, so nobody needs to look at them
    monkeypatch.setattr(router, "all_finite", lambda array: True)
    monkeypatch.setattr(residency, "ACTIVE", [False])


MACHINES = {
    "published": published,
    "hundredfold": hundredfold,
    "slower": slower,
    "filling": filling,
    "pools": pools,
}
on_every_machine = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
for_every_seed = pytest.mark.parametrize("seed", SEEDS)


# --- the simulation itself


@on_every_machine
def test_nothing_beats_the_best_in_hindsight(machine):
    computer = machine()
    calls = calls_for(computer, 500, 1)
    least = best(computer, calls) * (1 - 1e-9)
    assert plain(computer, calls) >= least
    for name in computer.truths:
        assert play(computer, calls, fixed(name)).seconds >= least
    assert play(computer, calls, model(computer, 1)).seconds >= least


def test_the_best_in_hindsight_pays_a_start_only_if_it_is_repaid():
    device = Truth(times(2.0, 0.0), startup=1.0)
    computer = Computer({REFERENCE: REFERENCE_TRUTH, "later": device}, MEASURED)
    call = call_of("exp", 10**7, "float64")
    saving = reference_seconds(call) / 2
    few, many = int(1 / saving), int(3 / saving)
    assert best(computer, [call] * few) == pytest.approx(plain(computer, [call] * few))
    assert best(computer, [call] * many) == pytest.approx(1 + plain(computer, [call] * many) / 2)


# --- the model


@on_every_machine
@for_every_seed
def test_the_regret_is_small(machine, seed):
    """Within 5% of the best, where a start and a change may cost what waiting for them costs.

    Nobody knows the calls to come: a start is made once the missed savings reach the level's factor
    times its price, a change once they reach its price.
    """
    computer = machine()
    calls = calls_for(computer, 4000, seed)
    auto = play(computer, calls, model(computer, seed))
    assert auto.seconds <= 1.05 * best(waited_for(computer), calls)


@on_every_machine
@for_every_seed
@pytest.mark.parametrize("count", [5, 30, 200, 4000])
def test_plain_numpy_is_never_much_faster(machine, seed, count):
    computer = machine()
    calls = calls_for(computer, count, seed)
    auto = play(computer, calls, model(computer, seed))
    # the program may end as soon as a start is paid
    started = {name for name in auto.ran if name != REFERENCE}
    starts = sum(computer.truths[name].startup for name in started)
    assert auto.seconds <= 1.02 * plain(computer, calls) + starts


@pytest.mark.parametrize("machine", [published, hundredfold, filling, pools])
@for_every_seed
def test_no_fixed_backend_is_faster_for_mixed_calls(machine, seed):
    computer = machine()
    calls = calls_for(computer, 6000, seed)
    auto = play(computer, calls, model(computer, seed))
    for name in computer.truths:
        assert auto.seconds < play(computer, calls, fixed(name)).seconds, name


@for_every_seed
def test_a_slower_device_is_never_started(seed):
    computer = slower()
    assert play(computer, calls_for(computer, 4000, seed), model(computer, seed)).away == 0


@for_every_seed
def test_what_does_not_fit_stays(seed):
    computer = filling()
    truth = computer.truths["gpu"]
    calls = calls_for(computer, 4000, seed)
    auto = play(computer, calls, model(computer, seed))
    assert auto.failures == 0
    fits = [truth.holds(call, step) for step, call in enumerate(calls)]
    assert all(name == REFERENCE or fit for name, fit in zip(auto.ran, fits, strict=True))
    assert auto.away > 0
    assert not all(fits)


@for_every_seed
def test_a_device_that_is_fuller_than_it_says_costs_next_to_nothing(seed):
    computer = filling()
    lying = replace(computer.truths["gpu"], free=lambda step: 10**9, hidden=10**9)
    computer = replace(computer, truths={**computer.truths, "gpu": lying})
    calls = calls_for(computer, 4000, seed)
    auto = play(computer, calls, model(computer, seed))
    assert auto.failures > 0
    assert auto.away == 0
    assert auto.seconds <= 1.02 * plain(computer, calls) + lying.startup


@on_every_machine
def test_times_that_scatter_change_little(machine):
    computer = machine()
    calls = calls_for(computer, 4000, 1)
    rng = np.random.default_rng(1)
    # a tenth either way, and one call in fifty waits for another program
    scatter = np.exp(rng.normal(0, 0.1, len(calls))) * np.where(rng.random(len(calls)) < 0.02, 5, 1)
    auto = play(computer, calls, model(computer, 1), lambda step: scatter[step])
    assert auto.seconds <= 1.1 * scatter.mean() * best(waited_for(computer), calls)


@on_every_machine
def test_curves_that_were_measured_badly_cost_little(machine):
    """Every point and every figure of the profile is wrong by a fifth, either way."""
    computer = machine()
    calls = calls_for(computer, 4000, 1)
    auto = play(computer, calls, model(computer, 1, noise=0.2))
    assert auto.seconds <= 1.1 * best(waited_for(computer), calls)


# --- thread pools


def in_turn(elements: int, order: int, several: int) -> list[Call]:
    """Several elementwise calls and a product, again and again."""
    calls = [call_of("exp", elements, "float64")] * several
    return [*calls, call_of("matmul", order, "float64")] * 1000


@pytest.fixture
def two_pools():
    """PyTorch, running, beside the reference's BLAS."""
    truths = pools().truths
    torch = replace(truths["torch"], startup=0.0)
    return replace(pools(), truths={REFERENCE: truths[REFERENCE], "torch": torch})


@pytest.mark.parametrize("elements", [10**5, 3 * 10**5, 10**6])
@pytest.mark.parametrize("order", [64, 512])
@pytest.mark.parametrize("several", [1, 2, 4, 8])
def test_pools_that_wake_in_turn_cost_next_to_nothing(two_pools, elements, order, several):
    """Products on the reference are too small to be observed: each wakes its threads unseen."""
    calls = in_turn(elements, order, several)
    auto = play(two_pools, calls, model(two_pools, 1, noise=0.0))
    # a dozen changes to learn from, however long the program
    learning = 12 * two_pools.truths["torch"].switch
    assert auto.seconds <= 1.02 * plain(two_pools, calls) + learning


@pytest.mark.parametrize("order", [64, 512])
def test_a_change_that_is_repaid_is_made_again_and_again(two_pools, order):
    calls = in_turn(10**6, order, 8)
    auto = play(two_pools, calls, model(two_pools, 1, noise=0.0))
    torch = two_pools.truths["torch"]
    group = torch.switch + 8 * torch.seconds(calls[0]) + reference_seconds(calls[8])
    assert auto.seconds <= 1.01 * 1000 * group
