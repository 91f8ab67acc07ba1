"""What ``dispatch-xp config init`` writes."""

from __future__ import annotations

import re

import pytest

from dispatch_xp.config import KEYS, Settings, check_file, load
from dispatch_xp.config_template import TEMPLATE


def test_it_gives_the_defaults(tmp_path):
    path = tmp_path / "dispatch_xp.toml"
    path.write_text(TEMPLATE)
    assert check_file(path) == Settings()


def test_it_gives_the_defaults_in_the_working_folder(write):
    write("local", TEMPLATE)
    assert load().settings == Settings()


@pytest.mark.parametrize("key", KEYS)
def test_it_shows_every_key(key):
    assert re.search(rf"^(# )?(\[{key}\b|{key} = )", TEMPLATE, re.MULTILINE)


def test_what_it_comments_out_is_valid(tmp_path):
    shown = re.sub(r'^# (?=\[|[\w."]+ = )', "", TEMPLATE, flags=re.MULTILINE)
    path = tmp_path / "dispatch_xp.toml"
    path.write_text(shown)
    settings = check_file(path)
    assert settings.operations
    assert settings.thresholds
    assert settings.profile
    assert settings.limits.device_memory == 20 * 10**9
