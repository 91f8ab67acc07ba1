from __future__ import annotations

import platformdirs
import pytest

NAMED = "named/settings.toml"


@pytest.fixture
def write(monkeypatch, tmp_path):
    """Write one source by its name, in a working folder of its own; return its name in reports."""
    work, home = tmp_path / "work", tmp_path / "home"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setattr(platformdirs, "user_config_path", lambda *_, **__: home)

    def write(source: str, text: str) -> str:
        path = {
            "named": work / NAMED,
            "local": work / "dispatch_xp.toml",
            "project": work / "pyproject.toml",
            "user": home / "dispatch_xp.toml",
        }[source]
        path.parent.mkdir(parents=True, exist_ok=True)
        if source == "project":
            header = "[project]\nname = 'mine'\n"
            text = header + "[tool.dispatch_xp]\n" + text.replace("\n[", "\n[tool.dispatch_xp.")
        path.write_text(text, encoding="utf-8")
        if source == "named":
            monkeypatch.setenv("DISPATCH_XP_CONFIG", str(path))
        return str(path)

    return write
