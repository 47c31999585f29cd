"""`docs/openmanus.md` names what there is: files, tools, settings, commands, profiles."""

import re
from pathlib import Path

from manus.commands.import_config import OF_A_MODEL, TABLE
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
