"""The machine profile: what calibration measured here, in one JSON file."""

from __future__ import annotations

import contextlib
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

import msgspec
import platformdirs

from dispatch_xp import files
from dispatch_xp.blas_threads import BlasThreads
from dispatch_xp.curve import Curve, Point
from dispatch_xp.errors import ProfileError

__all__ = [
    "SCHEMA",
    "BackendProfile",
    "Copy",
    "Machine",
    "Profile",
    "default_path",
    "merged",
    "read",
    "this_machine",
    "write",
]

SCHEMA = 1
_RECALIBRATE = "run `dispatch-xp calibrate` to measure this machine"


class Machine(msgspec.Struct, frozen=True):
    """What a profile was measured on. The first three have to agree for it to be used."""

    cpu: str
    architecture: str
    cores: int
    system: str = ""
    python: str = ""
    numpy: str = ""
    scipy: str = ""
    blas: tuple[str, ...] = ()


class Copy(msgspec.Struct, frozen=True):
    """The cost of a copy between host and device."""

    fixed: float
    bytes_per_second: float

    def seconds(self, size: int, arrays: int = 1) -> float:
        """Return the time for `size` bytes in so many arrays."""
        return self.fixed * arrays + size / self.bytes_per_second if arrays else 0.0


class BackendProfile(msgspec.Struct, frozen=True):
    """What was measured of one backend, in seconds.

    Attributes
    ----------
    description : str
        Library version and device.
    startup : float
        Importing the library and starting the device.
    switch : float
        What a call costs more when the one before ran on the reference: thread pools, as they come,
        that still spin against each other.
    copy_in, copy_out : Copy or None
        None for a backend that shares the host's memory.
    page_locked_in : Copy or None
        Copying in from page-locked memory, which a device reads by itself; None if not measured.
    switch_quiet : float or None
        As `switch`, with thread pools that give way; None if not measured.
    """

    description: str = ""
    startup: float = 0.0
    switch: float = 0.0
    copy_in: Copy | None = None
    copy_out: Copy | None = None
    page_locked_in: Copy | None = None
    switch_quiet: float | None = None

    def with_pools(self, *, quiet: bool) -> BackendProfile:
        """Return the figures of a process whose thread pools give way, or do not."""
        if quiet and self.switch_quiet is not None:
            return msgspec.structs.replace(self, switch=self.switch_quiet)
        return self


class _Version(msgspec.Struct):
    schema: int = SCHEMA


Points = dict[str, dict[str, dict[str, dict[str, list[Point]]]]]
"""Measured points by operation, layout, dtype and backend."""


class Curves(Mapping[tuple[str, str, str], dict[str, Curve]]):
    """Curves by ``(operation, layout, dtype)`` and backend, each made when somebody asks for it.

    A profile has thousands, of which a program needs a few.

    Parameters
    ----------
    points : mapping
        What they are made of.
    """

    def __init__(self, points: Points) -> None:
        self._points = points
        self._made: dict[tuple[str, str, str], dict[str, Curve]] = {}

    def __getitem__(self, key: tuple[str, str, str]) -> dict[str, Curve]:
        made = self._made.get(key)
        if made is None:
            operation, layout, dtype = key
            measured = self._points[operation][layout][dtype]
            made = {backend: Curve(points) for backend, points in measured.items() if points}
            self._made[key] = made
        return made

    def __iter__(self) -> Iterator[tuple[str, str, str]]:
        for operation in self._points:
            yield from self.of(operation)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def of(self, operation: str) -> Iterator[tuple[str, str, str]]:
        """Yield the keys of an operation."""
        for layout, dtypes in self._points.get(operation, {}).items():
            for dtype in dtypes:
                yield operation, layout, dtype


class Profile(msgspec.Struct, dict=True):
    """A machine profile.

    Attributes
    ----------
    machine : Machine
        What it was measured on.
    points, backends
        What the curves are made of, and what each backend costs besides.
    created, depth, notes
        When, how thoroughly, and what was in the way.
    schema : int
        Of the file.
    blas_threads : tuple of BlasThreads or None
        The thread counts of the reference's BLAS libraries, compared; None if they were not.
    """

    machine: Machine
    points: Points
    backends: dict[str, BackendProfile] = msgspec.field(default_factory=dict)
    created: str = ""
    depth: str = ""
    notes: list[str] = msgspec.field(default_factory=list)
    schema: int = SCHEMA
    blas_threads: tuple[BlasThreads, ...] | None = None

    @cached_property
    def curves(self) -> Curves:
        """The curves by ``(operation, layout, dtype)`` and backend."""
        return Curves(self.points)


def _cpu() -> str:
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def this_machine(*, libraries: bool = True) -> Machine:
    """Return the description of this machine.

    Parameters
    ----------
    libraries : bool
        Also name the loaded BLAS libraries and versions.
    """
    if not libraries:
        return Machine(_cpu(), platform.machine(), cores())
    import numpy as np
    import scipy
    from threadpoolctl import threadpool_info

    blas = tuple(
        sorted(
            f"{pool['internal_api']} {pool.get('version')} "
            f"({pool.get('architecture', '?')}, {pool['num_threads']} threads)"
            for pool in threadpool_info()
        )
    )
    return Machine(
        cpu=_cpu(),
        architecture=platform.machine(),
        cores=cores(),
        system=platform.platform(),
        python=sys.version.split()[0],
        numpy=np.__version__,
        scipy=scipy.__version__,
        blas=blas,
    )


def merged(old: Profile, new: Profile) -> Profile:
    """Return a profile with what is new, and of the old one what the new one lacks.

    Parameters
    ----------
    old, new : Profile
        Of the same machine. Where both have measured a layout in a dtype, the new one's backends
        count; those that it did not measure there keep their curves.
    """
    points: Points = {}
    for source in (old, new):
        for operation, layouts in source.points.items():
            for layout, dtypes in layouts.items():
                for dtype, measured in dtypes.items():
                    there = points.setdefault(operation, {}).setdefault(layout, {})
                    there[dtype] = {**there.get(dtype, {}), **measured}
    return Profile(
        machine=new.machine,
        points=points,
        backends={**old.backends, **new.backends},
        created=new.created,
        depth=new.depth,
        notes=new.notes,
        blas_threads=old.blas_threads if new.blas_threads is None else new.blas_threads,
    )


def default_path() -> Path:
    """Return where the profile is if the configuration doesn't say."""
    return platformdirs.user_data_path("dispatch_xp", appauthor=False) / "profile.json"


def write(profile: Profile, path: Path) -> None:
    """Write a profile so that a reader sees the old file or the new one, whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = msgspec.json.format(msgspec.json.encode(profile), indent=1)
    files.replace(path, text)


def _schema_of(text: bytes) -> int:
    """Return the schema that a file names, whatever else is in it; ours if it names none."""
    try:
        return msgspec.json.decode(text, type=_Version).schema
    except msgspec.DecodeError:
        return SCHEMA


def _refuse_newer(path: Path, schema: int) -> None:
    if schema > SCHEMA:
        raise ProfileError(
            f"machine profile {path} was written by a newer version "
            f"(schema {schema}, this version reads {SCHEMA}); {_RECALIBRATE}"
        )


def read(path: Path, *, foreign: bool = False) -> Profile:
    """Return the profile in a file.

    Parameters
    ----------
    path : Path
        The file.
    foreign : bool
        Whether it may be another machine's.

    Raises
    ------
    ProfileError
        Naming the file, if it is missing, damaged, newer than this version, or another machine's.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ProfileError(
            f"machine profile {path} cannot be read ({error.strerror}); {_RECALIBRATE}"
        ) from None
    try:
        profile = msgspec.json.decode(text, type=Profile)
    except msgspec.DecodeError as error:
        _refuse_newer(path, _schema_of(text))
        raise ProfileError(f"machine profile {path} is damaged ({error}); {_RECALIBRATE}") from None
    _refuse_newer(path, profile.schema)
    here = this_machine(libraries=False)
    there = profile.machine
    for what in ("cpu", "architecture", "cores"):
        if not foreign and getattr(there, what) != getattr(here, what):
            raise ProfileError(
                f"machine profile {path} is of another machine ({what} "
                f"{getattr(there, what)!r}, here {getattr(here, what)!r}); {_RECALIBRATE}"
            )
    return profile
