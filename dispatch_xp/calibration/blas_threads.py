"""Timing the reference's BLAS libraries with one thread, two, four, ... and all they have."""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Protocol

import numpy as np
import numpy.typing as npt
import scipy
import scipy.linalg

from dispatch_xp.blas_threads import BlasThreads, Timing
from dispatch_xp.calibration.spinning import USERS_OF_BLAS, of_blas
from dispatch_xp.calibration.timing import fastest

__all__ = ["Library", "Matrices", "Pool", "compare", "measure", "pools"]

_SIZES = (64, 128, 256, 512, 1024, 2048)
# of one size to the next, for operations that take n^3
_GROWTH = 8.0
_BUDGET, _MOST = 2e-3, 40


class Library(Protocol):
    """What is needed of threadpoolctl's control of a library."""

    @property
    def num_threads(self) -> int:
        """How many threads it has now."""

    def set_num_threads(self, num_threads: int, /) -> object:
        """Change that."""


@dataclass(frozen=True, slots=True)
class Matrices:
    """What the operations of one size work on."""

    general: npt.NDArray[np.float64]
    definite: npt.NDArray[np.float64]

    @classmethod
    def of(cls, size: int) -> Matrices:
        """Return the matrices of an order, the same each time."""
        general = np.random.default_rng(size).standard_normal((size, size))
        return cls(general, general @ general.T / size + np.eye(size))


Operation = Callable[[Matrices], object]

_OPERATIONS: dict[str, dict[str, Operation]] = {
    "numpy": {
        "numpy.matmul": lambda m: np.matmul(m.general, m.definite),
        "numpy.linalg.cholesky": lambda m: np.linalg.cholesky(m.definite),
        "numpy.linalg.solve": lambda m: np.linalg.solve(m.general, m.definite),
        "numpy.linalg.eigh": lambda m: np.linalg.eigh(m.definite),
        "numpy.linalg.svd": lambda m: np.linalg.svd(m.general),
    },
    "scipy": {
        "scipy.linalg.cholesky": lambda m: scipy.linalg.cholesky(m.definite),
        "scipy.linalg.lu_factor": lambda m: scipy.linalg.lu_factor(m.general),
        "scipy.linalg.solve": lambda m: scipy.linalg.solve(m.general, m.definite),
        "scipy.linalg.eigh": lambda m: scipy.linalg.eigh(m.definite),
        "scipy.linalg.svd": lambda m: scipy.linalg.svd(m.general),
    },
}
# each wakes both libraries, whose threads then spin against each other
_IN_TURN: dict[str, Operation] = {
    "numpy.matmul, scipy.linalg.lu_factor": lambda m: (
        np.matmul(m.general, m.definite),
        scipy.linalg.lu_factor(m.general),
    ),
    "numpy.linalg.solve, scipy.linalg.cholesky": lambda m: (
        np.linalg.solve(m.general, m.definite),
        scipy.linalg.cholesky(m.definite),
    ),
}

_VARIABLES = {
    "openblas": "OPENBLAS_NUM_THREADS",
    "mkl": "MKL_NUM_THREADS",
    "blis": "BLIS_NUM_THREADS",
}


@dataclass(frozen=True, slots=True)
class Pool:
    """A BLAS library with its threads, or two that are called in turn.

    Attributes
    ----------
    users : tuple of str
        Who computes with it.
    libraries : sequence of Library
        Whose threads are counted.
    operations : mapping
        What is timed, by name.
    library, variable : str
        As in :class:`~dispatch_xp.blas_threads.BlasThreads`.
    in_turn : bool
        Whether there are two.
    """

    users: tuple[str, ...]
    libraries: Sequence[Library]
    operations: Mapping[str, Operation]
    library: str = ""
    variable: str = ""
    in_turn: bool = False
    _present: list[int] = field(init=False)

    def __post_init__(self) -> None:
        present = [library.num_threads for library in self.libraries]
        object.__setattr__(self, "_present", present)

    @property
    def threads(self) -> int:
        """How many threads it had when it was found."""
        return max(self._present)

    def limit(self, count: int) -> bool:
        """Set the number of threads, of no library to more than it had; tell whether it is so now.

        threadpoolctl does nothing, silently, where another Python thread has control.
        """
        wanted = [min(count, present) for present in self._present]
        for library, number in zip(self.libraries, wanted, strict=True):
            library.set_num_threads(number)
        return [library.num_threads for library in self.libraries] == wanted

    @contextlib.contextmanager
    def restored(self) -> Iterator[None]:
        """Give every library the threads back that it had, whatever happens."""
        try:
            yield
        finally:
            self.limit(self.threads)


def pools() -> list[Pool]:
    """Return the BLAS libraries of NumPy and SciPy, and where each has its own, both in turn.

    A library that lies in the installed NumPy is NumPy's, and so for SciPy; any other is of those
    that bring none.
    """
    from threadpoolctl import ThreadpoolController

    modules: dict[str, ModuleType] = {"numpy": np, "scipy": scipy}
    # one whose threads can't be counted can't be limited either
    there = [
        library
        for library in ThreadpoolController().lib_controllers
        if library.user_api == "blas" and library.num_threads
    ]
    owner = {
        library.filepath: [name for name, module in modules.items() if _brings(module, library)]
        for library in there
    }
    without = [name for name in modules if not any(name in owners for owners in owner.values())]
    found = []
    for library in there:
        users = tuple(owner[library.filepath] or without)
        if users:
            operations = {name: run for user in users for name, run in _OPERATIONS[user].items()}
            text = f"{library.internal_api} {library.version or ''}".strip()
            found.append(Pool(users, [library], operations, text, _variable(library)))
    found.sort(key=lambda pool: pool.users)
    alone = [pool for pool in found if len(pool.users) == 1]
    if [pool.users for pool in alone] == [("numpy",), ("scipy",)]:
        same = len({pool.variable for pool in alone}) == 1
        found.append(
            Pool(
                ("numpy", "scipy"),
                [library for pool in alone for library in pool.libraries],
                _IN_TURN,
                " and ".join(dict.fromkeys(pool.library for pool in alone)),
                alone[0].variable if same else "",
                in_turn=True,
            )
        )
    return found


def _brings(module: ModuleType, library: object) -> bool:
    """Tell whether a library lies where a module's wheel puts it."""
    package = Path(str(module.__file__)).parent.resolve()
    file = Path(str(getattr(library, "filepath", ""))).resolve()
    beside = package.with_name(f"{package.name}.libs")
    return file.is_relative_to(package) or file.is_relative_to(beside)


def _variable(library: object) -> str:
    name = str(getattr(library, "internal_api", ""))
    if name == "openblas" and getattr(library, "threading_layer", "") == "openmp":
        return "OMP_NUM_THREADS"
    return _VARIABLES.get(name, "")


def candidates(threads: int, physical: int | None = None) -> list[int]:
    """Return the counts to compare: powers of two, the physical cores, and all threads."""
    powers = {2**power for power in range(threads.bit_length())}
    more = {physical} if physical else set()
    return sorted(count for count in powers | more | {threads} if count <= threads)


def physical_cores() -> int | None:
    """Return how many physical cores this process may use, where Linux says so; else None."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    folder = Path("/sys/devices/system/cpu")
    try:
        return len(
            {
                (folder / f"cpu{number}" / "topology" / "thread_siblings_list").read_text()
                for number in os.sched_getaffinity(0)
            }
        )
    except OSError:
        return None


def measure(
    seconds: float,
    rounds: int,
    *,
    load: str = "",
    tell: Callable[[str], object] = lambda label: None,
) -> tuple[BlasThreads, ...]:
    """Return how NumPy's and SciPy's BLAS do with fewer threads; they have as many as before then.

    Parameters
    ----------
    seconds : float
        How long it may take.
    rounds : int
        How often every thread count is measured.
    load : str
        How busy other programs keep the machine, kept in the result.
    tell : callable
        Told what is measured, before it is.

    Returns
    -------
    tuple of BlasThreads
        Empty where no BLAS is found whose threads can be counted.
    """
    from threadpoolctl import ThreadpoolController

    end = time.perf_counter() + seconds
    found = pools()
    todo = sum(len(pool.operations) for pool in found if pool.threads > 1)
    spins = {user: of_blas(user) if todo else 0.0 for user in USERS_OF_BLAS}
    done = []
    # it changes nothing, but lets other Python threads change the numbers afterwards
    with ThreadpoolController().limit(limits=None):
        for pool in found:
            share = (end - time.perf_counter()) * len(pool.operations) / max(todo, 1)
            rest = max(spins[user] for user in pool.users)
            done.append(compare(pool, share, rounds, rest=rest, load=load, tell=tell))
            if pool.threads > 1:
                todo -= len(pool.operations)
    return tuple(done)


def _shortest(run: Callable[[], object]) -> float:
    return fastest(run, _BUDGET, most=_MOST)


_Key = tuple[str, int]
_Times = dict[_Key, dict[int, float]]


def compare(
    pool: Pool,
    seconds: float,
    rounds: int,
    *,
    rest: float = 0.0,
    load: str = "",
    tell: Callable[[str], object] = lambda label: None,
    timed: Callable[[Callable[[], object]], float] = _shortest,
    clock: Callable[[], float] = time.perf_counter,
    sleep: Callable[[float], object] = time.sleep,
) -> BlasThreads:
    """Return a pool's thread counts compared; its threads are as many as before then.

    Parameters
    ----------
    pool : Pool
        What to measure.
    seconds : float
        How long it may take: it decides up to which size each operation is measured.
    rounds : int
        How often.
    rest : float
        The seconds for which threads spin after a call.
    load : str
        Kept in the result.
    tell : callable
        Told what is measured, before it is.
    timed, clock, sleep : callable
        The time of a call, the time, and waiting.
    """
    record = partial(
        BlasThreads, pool.users, pool.library, pool.threads, pool.variable,
        in_turn=pool.in_turn, load=load,
    )  # fmt: skip
    with pool.restored():
        counts = [n for n in candidates(pool.threads, physical_cores()) if pool.limit(n)]
        if len(counts) < 2 or pool.threads not in counts:
            return record(counts=(pool.threads,))
        run = _Comparison(pool, counts, clock() + seconds - rest, rest, tell, timed, clock)
        times = run.first(rounds)
        for turn in range(rounds if times else 0):
            began = clock()
            # only a lower count leaves threads that spin for nothing
            sleep(rest)
            run.wake(times)
            again, whole = run.again(times)
            # of a part, the lower counts would have been measured once more than the others
            if whole or turn == 0:
                for key, more in again.items():
                    for count, least in more.items():
                        times[key][count] = min(least, times[key].get(count, math.inf))
            if run.end - clock() < clock() - began:
                break
        sleep(rest)
    known = tuple(n for n in counts if all(n in measured for measured in times.values()))
    timings = [
        Timing(name, size, tuple(measured[n] for n in known))
        for (name, size), measured in times.items()
    ]
    return record(counts=known, timings=tuple(timings))


@dataclass(slots=True)
class _Comparison:
    pool: Pool
    counts: Sequence[int]
    end: float
    rest: float
    tell: Callable[[str], object]
    timed: Callable[[Callable[[], object]], float]
    clock: Callable[[], float]
    matrices: dict[int, Matrices] = field(default_factory=dict)

    def first(self, rounds: int) -> _Times:
        """Time the lowest and the present count, up to the sizes of which all rounds have time."""
        allowed = (self.end - self.clock()) / (rounds + 1) - self.rest
        ends = (self.counts[0], self.pool.threads)
        times: _Times = {}
        spent = 0.0
        expected = dict.fromkeys(self.pool.operations, 0.0)
        for size in _SIZES:
            for name in list(expected):
                if spent + expected[name] >= allowed:
                    del expected[name]
                    continue
                began = self.clock()
                times[name, size] = {}
                for count in ends:
                    self.pool.limit(count)
                    times[name, size][count] = self._time((name, size), count)
                cost = (self.clock() - began) * len(self.counts) / len(ends)
                spent += cost
                expected[name] = cost * _GROWTH
        return times

    def wake(self, keys: _Times) -> None:
        """Compute until the cores are as fast as they get: after a rest they are not at once."""
        self.pool.limit(self.counts[0])
        for key in keys:
            if key[1] == _SIZES[0] and self.clock() < self.end:
                self._time(key, self.counts[0])

    def again(self, keys: _Times) -> tuple[_Times, bool]:
        """Time every count on the same problems, ascending, and tell whether time was enough."""
        times: _Times = {key: {} for key in keys}
        for count in self.counts:
            self.pool.limit(count)
            for key in keys:
                # a call that is not counted, and one that is
                if self.clock() + 2 * max(keys[key].values()) > self.end:
                    return times, False
                times[key][count] = self._time(key, count)
        return times, True

    def _time(self, key: _Key, count: int) -> float:
        name, size = key
        self.tell(f"{name} of {size}, {count} thread{'s' if count > 1 else ''}")
        if size not in self.matrices:
            self.matrices[size] = Matrices.of(size)
        return self.timed(partial(self.pool.operations[name], self.matrices[size]))
