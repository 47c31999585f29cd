"""`docs/openmanus.md` names what there is: files, tools, settings, commands, profiles."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from manus.commands import program
from manus.graph import build_agent, build_flow
from manus.graph.profiles import PROFILES
from manus.import_config import OF_A_MODEL, TABLE
from manus.state.settings import Settings
from manus.tools.catalog import BUILT_IN

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "openmanus.md").read_text("utf-8")


def section(title: str) -> str:
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None, title
    return found[1]


def rows(title: str) -> list[tuple[str, str]]:
    """The rows of a section's table: theirs and ours."""
    lines = [line for line in section(title).splitlines() if line.startswith("| ")][2:]
    return [(theirs, ours) for _, theirs, ours, _ in (line.split("|") for line in lines)]


def code(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def test_our_files_are_there() -> None:
    named = [word for _, ours in rows("Files and classes") for word in code(ours) if "/" in word]
    assert len(named) >= 20
    assert [word for word in named if not list(ROOT.glob(word))] == []


def test_our_names_are_there() -> None:
    assert build_agent.__name__ in PAGE
    assert build_flow.__name__ in PAGE
    profiles = next(ours for theirs, ours in rows("Files and classes") if "`SWEAgent`" in theirs)
    assert set(code(profiles)) - {"graph/profiles.py"} < set(PROFILES)


def test_our_tools_are_tools() -> None:
    named = {word for _, ours in rows("Tools") for word in code(ours)}
    assert len(named) > 8
    assert named - {"mcp_<server>_<tool>", "fetch_content", "extract_content"} <= set(BUILT_IN)


def test_each_of_their_settings_is_on_the_page() -> None:
    text = section("Settings")
    missing = [name for name in TABLE if f"`{name}`" not in text]
    missing += [name for name in OF_A_MODEL if f"`llm.{name}`" not in text]
    assert missing == []
    for theirs, ours in TABLE.items():
        row = next(row for row in rows("Settings") if f"`{theirs}`" in row[0])
        assert f"`{ours}`" in row[1]


@pytest.mark.parametrize("ours", [*TABLE.values(), *OF_A_MODEL])
def test_each_of_ours_is_a_setting(ours: str) -> None:
    schema: object = Settings
    for name in ours.split("."):
        fields = getattr(schema, "model_fields", {})
        assert name in fields
        schema = fields[name].annotation


def test_our_commands_are_commands() -> None:
    named = [word for word in code(section("Commands")) if word.startswith("manus ")]
    typed = re.findall(r"^\$ \.venv/bin/(manus .*?)(?:  +#.*)?$", PAGE, re.MULTILINE)
    assert len(named) + len(typed) >= 7
    for command in (*named, *typed):
        name, *arguments = shlex.split(command)[1:]
        assert program.commands[name].make_context(name, arguments) is not None, command
