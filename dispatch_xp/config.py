"""The settings, and where each comes from.

First match wins, key by key: arguments, ``DISPATCH_XP_*`` variables, the file that
``DISPATCH_XP_CONFIG`` names, ``dispatch_xp.toml`` in the working folder, ``[tool.dispatch_xp]`` in
its ``pyproject.toml``, the user's file. A file names things; it never runs code.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import platformdirs

from dispatch_xp.errors import ConfigError
from dispatch_xp.programs import VARIABLE

__all__ = [
    "Limits",
    "Pin",
    "Resolved",
    "Settings",
    "check_file",
    "check_operation",
    "load",
    "user_file",
]

_PREFIX = "DISPATCH_XP_"
_LOCATION = "DISPATCH_XP_CONFIG"
_PRECISIONS = ("match", "native")
_FALLBACKS = ("quiet", "warn", "raise")
_UNITS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


class Pin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is fixed for one operation."""

    backend: str


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What may be used, in bytes.

    Attributes
    ----------
    device_memory : int or None
        None for all that the level leaves.
    trace_size : int
        Of the file of a trace.
    """

    device_memory: int | None = None
    trace_size: int = 256_000_000


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The effective configuration; see ``docs/configuration.md`` for each key."""

    backend: str = "auto"
    level: int = 5
    policy: str = "cost-model"
    backends: tuple[str, ...] = ("threads", "torch", "cupy", "dpnp")
    precision: str = "match"
    verify: bool = False
    fallback: str = "quiet"
    profile: str | None = None
    seed: int = 0
    operations: dict[str, Pin] = msgspec.field(default_factory=dict)
    thresholds: dict[str, int] = msgspec.field(default_factory=dict)
    limits: Limits = msgspec.field(default_factory=Limits)


@dataclass(frozen=True, slots=True)
class Resolved:
    """The settings, and per key where its value comes from."""

    settings: Settings
    sources: dict[str, str]


KEYS = tuple(field.name for field in msgspec.structs.fields(Settings))
_TABLES = ("operations", "thresholds", "limits")


def user_file() -> Path:
    """Return the user's own configuration file, which need not exist."""
    return platformdirs.user_config_path("dispatch_xp", appauthor=False) / "dispatch_xp.toml"


def load(**arguments: Any) -> Resolved:
    """Return the effective configuration.

    Parameters
    ----------
    **arguments
        Keys of :class:`Settings`; they win over every other source.

    Raises
    ------
    ConfigError
        Naming the source, the key and what is allowed.
    """
    values: dict[str, Any] = {}
    sources = dict.fromkeys(KEYS, "default")
    for source, found in _layers(arguments):
        for key, value in found.items():
            values[key] = value
            sources[key] = source
    return Resolved(Settings(**values), sources)


def check_file(path: Path) -> Settings:
    """Return the settings that a file alone gives.

    Raises
    ------
    ConfigError
        If the file can't be read, or anything in it isn't allowed.
    """
    return Settings(**_checked(_read(path), str(path)))


def _layers(arguments: Mapping[str, Any]) -> Iterable[tuple[str, dict[str, Any]]]:
    """Return the sources from the weakest to the strongest, each checked."""
    files = [(path, _read(path)) for path in (user_file(),) if path.is_file()]
    project = Path("pyproject.toml")
    if project.is_file():
        tools = _read(project).get("tool", {})
        table = tools.get("dispatch_xp") if isinstance(tools, dict) else None
        if table is not None:
            files.append((project.absolute(), table))
    local = Path("dispatch_xp.toml")
    if local.is_file():
        files.append((local.absolute(), _read(local)))
    named = os.environ.get(_LOCATION)
    if named:
        path = Path(named).expanduser()
        files.append((path, _read(path, f"{_LOCATION} names ")))
    for path, table in files:
        yield str(path), _checked(table, str(path))
    for variable, table in _variables():
        yield variable, _checked(table, variable, show_key=False)
    yield "argument", _checked(arguments, "argument")


@cache
def _parsed(path: str, modified: int, size: int) -> dict[str, Any]:
    import tomllib

    return tomllib.loads(Path(path).read_text(encoding="utf-8"))


def _read(path: Path, named_by: str = "") -> dict[str, Any]:
    try:
        status = path.stat()
        return _parsed(str(path.absolute()), status.st_mtime_ns, status.st_size)
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not valid TOML: it is not UTF-8 ({error.reason})") from None
    except ValueError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from None
    except OSError as error:
        raise ConfigError(f"{named_by}{path}, which cannot be read: {error.strerror}") from None


def _variables() -> Iterable[tuple[str, dict[str, Any]]]:
    for variable, text in os.environ.items():
        if not variable.startswith(_PREFIX) or variable in (_LOCATION, VARIABLE):
            continue
        key = variable.removeprefix(_PREFIX).lower()
        if key not in KEYS or key in _TABLES:
            allowed = [f"{_PREFIX}{k.upper()}" for k in KEYS if k not in _TABLES]
            raise ConfigError(_unknown(variable, "variable", [*allowed, _LOCATION]))
        yield variable, {key: _from_text(key, text, variable)}


def _from_text(key: str, text: str, variable: str) -> Any:
    if key == "backends":
        return [name.strip() for name in text.split(",") if name.strip()]
    if key in ("level", "seed"):
        try:
            return int(text)
        except ValueError:
            raise ConfigError(f"{variable}: {text!r} is not a whole number") from None
    if key == "verify":
        known = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
        if text.lower() not in known:
            raise ConfigError(f"{variable}: {text!r} is not one of true, false")
        return known[text.lower()]
    return text


def _near(name: str, choices: Iterable[str], most: int) -> list[str]:
    import difflib

    return difflib.get_close_matches(name, list(choices), most)


def _unknown(name: str, what: str, allowed: Iterable[str]) -> str:
    choices = list(allowed)
    near = _near(name, choices, 1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"unknown {what} {name!r}; {hint}allowed: {', '.join(choices)}"


def _checked(table: Mapping[str, Any], source: str, *, show_key: bool = True) -> dict[str, Any]:
    """Return a source's values, each checked."""
    if not isinstance(table, Mapping):
        raise ConfigError(f"{source}: [tool.dispatch_xp] is {table!r}, not a table")
    result = {}
    for key, value in table.items():
        if key not in KEYS:
            raise ConfigError(f"{source}: {_unknown(key, 'key', KEYS)}")
        try:
            result[key] = _CHECKS[key](value)
        except ConfigError as error:
            place = f"{source}: {key}" if show_key else source
            raise ConfigError(f"{place}: {error}") from None
    return result


def _one_of(what: str, value: Any, allowed: Iterable[str]) -> str:
    choices = list(allowed)
    if not isinstance(value, str) or value not in choices:
        near = _near(str(value), choices, 1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ConfigError(f"{value!r} is not a {what}; {hint}allowed: {', '.join(choices)}")
    return value


def known_backends(*, entry_points: bool = False) -> tuple[str, ...]:
    """Return the names of the backends."""
    from dispatch_xp import backends

    return backends.names(entry_points=entry_points)


def known_policies(*, entry_points: bool = False) -> tuple[str, ...]:
    """Return the names of the policies."""
    from dispatch_xp import policies

    return policies.names(entry_points=entry_points)


def known_operations() -> tuple[str, ...]:
    """Return the names of the operations."""
    from dispatch_xp.operations import OPERATIONS

    return tuple(OPERATIONS)


def _named(what: str, value: Any, known: Callable[..., tuple[str, ...]], *more: str) -> str:
    """Check a name, looking for entry points (a scan costs 60 ms) only if it isn't ours."""
    if isinstance(value, str) and value in (*more, *known()):
        return value
    return _one_of(what, value, (*more, *known(entry_points=True)))


def _backend(value: Any) -> str:
    return _named("backend", value, known_backends, "auto", "reference")


def _policy(value: Any) -> str:
    return _named("policy", value, known_policies)


def _backends(value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, (list, tuple)):
        raise ConfigError(f"{value!r} is not a list of names")
    return tuple(_named("backend", name, known_backends) for name in value)


def _typed(kind: Any, what: str) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        try:
            return msgspec.convert(value, kind, strict=True)
        except msgspec.ValidationError:
            raise ConfigError(f"{value!r} is not {what}") from None

    return check


def _level(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 10:
        raise ConfigError(
            f"{value!r} is not a level; allowed: whole numbers from 1 (cautious) to 10 (eager)"
        )
    return value


def _table(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{value!r} is not a table of {what}")
    return dict(value)


def check_operation(name: str, *more: str) -> str:
    """Return the name of an operation, or raise ConfigError with what is near."""
    allowed = (*more, *known_operations())
    if name not in allowed:
        near = _near(name, allowed, 3)
        hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise ConfigError(f"unknown operation {name!r}{hint} (dispatch_xp.operations lists them)")
    return name


def _operations(value: Any) -> dict[str, Pin]:
    pins = {}
    for name, entry in _table(value, "operations").items():
        check_operation(name)
        if isinstance(entry, Pin):
            pins[name] = entry
            continue
        if not isinstance(entry, Mapping) or set(entry) != {"backend"}:
            raise ConfigError(f"{name}: {entry!r} has to be a table with the one key 'backend'")
        try:
            pins[name] = Pin(_named("backend", entry["backend"], known_backends, "reference"))
        except ConfigError as error:
            raise ConfigError(f"{name}.backend: {error}") from None
    return pins


def _thresholds(value: Any) -> dict[str, int]:
    result = {}
    for name, entry in _table(value, "operations").items():
        check_operation(name, "default")
        if isinstance(entry, bool) or not isinstance(entry, int) or entry < 0:
            raise ConfigError(f"{name}: {entry!r} is not a number of elements")
        result[name] = entry
    return result


def _limits(value: Any) -> Limits:
    if isinstance(value, Limits):
        return value
    table = _table(value, "limits")
    for key in table:
        if key not in Limits.__struct_fields__:
            raise ConfigError(_unknown(key, "key", Limits.__struct_fields__))
    return Limits(**{key: _bytes(key, x) for key, x in table.items() if x is not None})


def _bytes(key: str, value: Any) -> int:
    """Return a size such as ``"20 GB"`` in bytes."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    text = value if isinstance(value, str) else ""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*", text)
    if match is None or match[2] not in _UNITS:
        raise ConfigError(
            f"{key}: {value!r} is not a size; write a number and one of "
            f"{', '.join(_UNITS)}, such as '20 GB'"
        )
    size = float(match[1]) * _UNITS[match[2]]
    if size == math.inf:
        raise ConfigError(f"{key}: {value!r} is more than any device has")
    return int(size)


def _path(value: Any) -> str:
    """Return a path with the user's folder written out."""
    if not isinstance(value, (str, os.PathLike)) or not os.fspath(value):
        raise ConfigError(f"{value!r} is not a path")
    return os.path.expanduser(os.fspath(value))


_CHECKS: dict[str, Callable[[Any], Any]] = {
    "backend": _backend,
    "level": _level,
    "policy": _policy,
    "backends": _backends,
    "precision": lambda value: _one_of("precision", value, _PRECISIONS),
    "verify": _typed(bool, "true or false"),
    "fallback": lambda value: _one_of("fallback", value, _FALLBACKS),
    "profile": _path,
    "seed": _typed(int, "a whole number"),
    "operations": _operations,
    "thresholds": _thresholds,
    "limits": _limits,
}
