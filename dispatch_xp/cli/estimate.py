"""``dispatch-xp estimate``."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["command"]


@click.command()
@click.argument("trace", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--profile", help="Another machine's profile: a FILE, or the name of one of ours.")
@click.option("--backends", help="Only these, such as 'threads,cupy'.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(trace: Path, profile: str | None, backends: str | None, as_json: bool) -> None:
    """Predict from a trace what each level would save.

    `dispatch-xp measure --trace FILE` writes one. With --profile, predict it for another machine.
    """
    import msgspec

    from dispatch_xp import profiles
    from dispatch_xp.config import load
    from dispatch_xp.errors import ProfileError
    from dispatch_xp.estimate import estimate
    from dispatch_xp.profile import default_path, read
    from dispatch_xp.trace.reader import read as read_trace

    settings = load().settings
    if profile is not None:
        found = profiles.find(profile)
        chosen = None if backends is None else _names(backends)
    else:
        path = Path(settings.profile) if settings.profile else default_path()
        if not path.exists():
            raise ProfileError(
                f"there is no machine profile at {path}: run `dispatch-xp calibrate`, or name one "
                f"with --profile ({', '.join(profiles.names())})"
            )
        found = read(path)
        chosen = list(settings.backends) if backends is None else _names(backends)
    unknown = [name for name in chosen or () if name not in found.backends]
    if backends is not None and unknown:
        raise click.UsageError(
            f"no figures of {', '.join(unknown)} in the profile, but of {', '.join(found.backends)}"
        )
    result = estimate(read_trace(trace), found, chosen)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(result), indent=1).decode())
    else:
        click.echo(str(result))


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
