"""``dispatch-xp status``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from dispatch_xp.profile import Profile

__all__ = ["command"]

# seconds to wait to hear how busy a device is
_PATIENCE = 2.0
_DOORS = {"numpy._core._methods": "methods, as x.sum()"}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(as_json: bool) -> None:
    """Say what is there, what is missing, and what is set."""
    report = _report()
    if as_json:
        import msgspec

        click.echo(msgspec.json.format(msgspec.json.encode(report), indent=2).decode())
    else:
        _print(report)


def _report() -> dict[str, Any]:
    import msgspec
    import scipy.linalg  # noqa: F401 - has doors, and a BLAS of its own

    import dispatch_xp
    from dispatch_xp.config import load
    from dispatch_xp.doors import INSTALLATION
    from dispatch_xp.levels import LEVELS

    resolved = load()
    was_installed = INSTALLATION.installed
    INSTALLATION.install()
    try:
        doors = [{"door": r.door, "count": r.functions, "problem": r.problem}
                 for r in INSTALLATION.reports()]  # fmt: skip
        problems = dict(INSTALLATION.problems)
    finally:
        if not was_installed:
            INSTALLATION.uninstall()
    settings = resolved.settings
    found = _backends(settings.backends)
    pools = _pools()
    return {
        "version": dispatch_xp.__version__,
        "backends": found,
        "profile": _profile(settings.profile),
        "level": {
            "level": settings.level,
            "speedup": LEVELS[settings.level].speedup,
            "others_load": LEVELS[settings.level].others_load,
        },
        "choice": {"backend": settings.backend, "policy": settings.policy},
        "doors": doors,
        "functions_without_door": problems,
        "thread_pools": pools,
        "thread_pool_advice": _advice(pools, found),
        "settings": msgspec.to_builtins(settings),
        "sources": resolved.sources,
    }


def _backends(wanted: tuple[str, ...]) -> list[dict[str, Any]]:
    from dispatch_xp import backends
    from dispatch_xp.backends.interface import Availability
    from dispatch_xp.errors import PluginError

    found = []
    for name in dict.fromkeys((*wanted, *backends.names(entry_points=True))):
        others, unknown = None, ""
        try:
            backend = backends.get(name)
            availability = backend.probe()
            if availability.available and name in wanted and not backend.shares_host_memory:
                others, unknown = backend.others_load(_PATIENCE), backend.others_problem()
        except PluginError as error:
            availability = Availability(False, str(error))
        except Exception as error:  # of a third party's, which must not hide all the rest
            availability = Availability(False, f"its probe failed: {error!r}")
        found.append(
            {
                "name": name,
                "available": availability.available,
                "reason": availability.reason,
                "description": availability.description,
                "used": name in wanted,
                "others_load": others,
                "others_problem": unknown,
            }
        )
    return found


def _profile(configured: str | None) -> dict[str, Any]:
    from dispatch_xp.errors import ProfileError
    from dispatch_xp.profile import default_path, read

    path = Path(configured) if configured else default_path()
    if not path.exists():
        return {"path": str(path), "problem": "not there yet: run `dispatch-xp calibrate`"}
    try:
        profile = read(path)
    except ProfileError as error:
        return {"path": str(path), "problem": str(error)}
    return {
        "path": str(path),
        "problem": "",
        "created": profile.created,
        "depth": profile.depth,
        "curves": len(profile.curves),
        "backends": {
            name: {
                "startup": figures.startup,
                "switch": figures.switch,
                "switch_quiet": figures.switch_quiet,
                "copies": {
                    way: copy.bytes_per_second
                    for way in ("copy_in", "page_locked_in", "copy_out")
                    if (copy := getattr(figures, way)) is not None
                },
            }
            for name, figures in profile.backends.items()
        },
        "blas_threads": _blas_threads(profile),
    }


def _blas_threads(profile: Profile) -> dict[str, Any]:
    """Return the compared thread counts, and what they say."""
    import msgspec

    from dispatch_xp.cli.blas_threads import sentences

    found = profile.blas_threads
    if found is None:
        said = ["not compared yet: `dispatch-xp calibrate` does"]
    else:
        said = sentences(found, os.environ)
    return {"measured": msgspec.to_builtins(found), "advice": said}


def _pools() -> list[dict[str, Any]]:
    from threadpoolctl import threadpool_info

    return [
        {
            "library": f"{pool['internal_api']} {pool.get('version') or ''}".strip(),
            "threads": pool["num_threads"],
            "file": pool["filepath"],
        }
        for pool in threadpool_info()
    ]


def _advice(pools: list[dict[str, Any]], found: list[dict[str, Any]]) -> list[str]:
    """Say whether thread pools may take the cores from each other, and what helps."""
    from dispatch_xp import quiet_pools

    several = [pool for pool in pools if pool["threads"] > 1]
    has_openmp = any(pool["library"].startswith("openmp") for pool in pools)
    torch = any(b["name"] == "torch" and b["available"] and b["used"] for b in found)
    lines = []
    if torch and not has_openmp:
        lines.append("PyTorch brings one more (OpenMP) when it is started.")
    if len(several) + (torch and not has_openmp) > 1:
        lines.append("Each pool waits for work by spinning, and takes the cores from the others.")
        if quiet_pools.are_quiet(os.environ):
            lines.append(f"{_assigned(os.environ)} is set: they soon give way.")
        else:
            lines.append(
                f"With {_assigned(quiet_pools.VARIABLES)} set before Python starts they soon give "
                "way; `dispatch-xp run` sets that."
            )
    return lines


def _assigned(environ: Mapping[str, str]) -> str:
    """Return what an environment says of quiet pools, as a shell takes it."""
    from dispatch_xp import quiet_pools

    return " ".join(f"{name}={environ[name]}" for name in quiet_pools.VARIABLES)


def _speeds(copies: dict[str, float]) -> str:
    """Say how fast copies are, each way."""
    ways = {"copy_in": "in", "page_locked_in": "in from page-locked memory", "copy_out": "out"}
    return ", ".join(f"{ways[way]} {speed / 1e9:.1f} GB/s" for way, speed in copies.items())


def _others(found: list[dict[str, Any]], limit: float) -> list[str]:
    """Say how busy other programs keep each device, and what the level goes along with."""
    lines = []
    for b in found:
        if b["others_load"] is not None:
            lines.append(f"{b['name']}: {b['others_load']:.0%} used by others, {limit:.0%} allowed")
        elif b["others_problem"]:
            lines.append(f"{b['name']}: use by others is not known: {b['others_problem']}")
    return lines


def _print(report: dict[str, Any]) -> None:
    from rich.text import Text

    from dispatch_xp.cli.console import console, table
    from dispatch_xp.cli.settings_table import settings_table
    from dispatch_xp.config import load

    out = console()
    out.print(f"dispatch-xp {report['version']}", style="bold")

    backends = table("backend", "state", "")
    backends.add_row("reference", Text("always", "green"), "NumPy and SciPy themselves")
    for b in report["backends"]:
        if b["available"]:
            state = Text("available", "green") if b["used"] else Text("not used", "yellow")
            note = b["description"] + ("" if b["used"] else "; add it to `backends` to use it")
        else:
            state, note = Text("missing", "red" if b["used"] else ""), b["reason"]
        backends.add_row(b["name"], state, note)
    out.print(backends)

    profile = report["profile"]
    out.print()
    if profile["problem"]:
        out.print(f"machine profile  {profile['path']}\n  {profile['problem']}", soft_wrap=True)
        out.print("  Until then `auto` keeps everything on the reference.")
    else:
        out.print(
            f"machine profile  {profile['path']}\n  measured {profile['created']} "
            f"({profile['depth']}), {profile['curves']} speed curves",
            soft_wrap=True,
        )
        for name, figures in profile["backends"].items():
            quiet = figures["switch_quiet"]
            out.print(
                f"  {name}: {figures['startup']:.2f} s to start; changing from the reference to it "
                f"costs {figures['switch'] * 1e3:.2f} ms"
                + (f", {quiet * 1e3:.2f} with quiet thread pools" if quiet is not None else ""),
                soft_wrap=True,
            )
            if figures["copies"]:
                out.print(f"  {name}: copies {_speeds(figures['copies'])}")
    choice = report["choice"]
    if choice["backend"] == "auto":
        out.print(f"policy           {choice['policy']}")
    else:
        out.print(f"backend          {choice['backend']}, whatever the policy")
    level = report["level"]
    out.print(
        f"level            {level['level']}: a backend has to be {level['speedup']:g} times as fast"
    )
    for line in _others(report["backends"], level["others_load"]):
        out.print(f"  {line}", soft_wrap=True)

    out.print()
    doors = table("door", "in place", "")
    for door in report["doors"]:
        name = _DOORS.get(door["door"], door["door"])
        doors.add_row(name, str(door["count"]), door["problem"])
    out.print(doors)
    for path, problem in report["functions_without_door"].items():
        out.print(f"  no door: {path}: {problem}")

    out.print()
    pools = table("thread pool", "threads", "library")
    for pool in report["thread_pools"]:
        pools.add_row(pool["library"], str(pool["threads"]), Path(pool["file"]).name)
    out.print(pools)
    for line in report["thread_pool_advice"]:
        out.print(f"  {line}", soft_wrap=True)
    if not profile["problem"]:
        out.print("number of BLAS threads, from the machine profile")
        for line in profile["blas_threads"]["advice"]:
            out.print(f"  {line}", soft_wrap=True)
    out.print()
    out.print(settings_table(load()))
