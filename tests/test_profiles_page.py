"""`docs/profiles.md`: its files are written as they stand there, and used."""

import json
import re
import sys
from pathlib import Path

import pytest

from manus.graph import build_agent, build_flow
from manus.graph.profiles import profile_named
from manus.state.profile import ProfileSettings
from manus.tools.call import observe_call
from manus.tools.own import from_function, load_own

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "profiles.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the page's files in it; its modules are forgotten after the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("my_tools", "my_graphs"):
        monkeypatch.setitem(sys.modules, name, None)
        monkeypatch.delitem(sys.modules, name)
    for code in blocks("python"):
        head = re.match(r"# (\w+\.py)\n", code)
        assert head is not None
        (tmp_path / head[1]).write_text(code)
    [toml] = blocks("toml")
    (tmp_path / "manus.toml").write_text(toml)
    return tmp_path


async def test_its_tool_and_its_profile(home: Path) -> None:
    profile = profile_named("glossary")
    assert (profile.max_steps, profile.max_observe, profile.role) == (5, 2000, "main")
    lookup = load_own("my_tools:lookup")
    found = await observe_call(from_function(lookup), {"word": "thread"})
    assert found.text == "a conversation of one or more runs"
    assert build_agent("glossary").profile.name == "glossary"
    assert build_flow(("manus", "glossary")).name == "flow"


def test_its_graph(home: Path) -> None:
    graph = load_own("my_graphs:glossary")
    assert graph.profile.name == "glossary"
    assert json.loads(f"{{{re.findall(r'under `graphs`: `(.*?)`', PAGE)[0]}}}") == {
        "glossary": "my_graphs:glossary"
    }


def test_each_setting_of_a_profile_is_on_the_page() -> None:
    named = set(re.findall(r"^(\w+) = ", blocks("toml")[0], re.MULTILINE))
    assert named == set(ProfileSettings.model_fields) - {"next_step_prompt"}
