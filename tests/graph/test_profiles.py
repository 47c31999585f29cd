"""Agent profiles: those that come with the project, and the user's own."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from manus.graph import build_agent, build_flow
from manus.graph.profiles import PROFILES, all_executors, all_profiles, profile_named
from manus.prompts import render
from manus.state.errors import SettingsError
from manus.tools.catalog import BUILT_IN, build_catalog
from manus.tools.session import Session
from manus.tools.workspace import Workspace

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with nothing in it, found by imports only while the test lasts."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path


def _write(home: Path, toml: str) -> None:
    (home / "manus.toml").write_text(toml, encoding="utf-8")


def _refusal(name: str = "mine") -> str:
    with pytest.raises(SettingsError) as caught:
        profile_named(name)
    said = str(caught.value)
    assert "\n" not in said
    return said


_CONTRACT = {
    "manus": (
        "python_execute bash browser_use web_search str_replace_editor skill delegate remember"
        " ask_human terminate mcp",
        60,
        10_000,
    ),
    "browser": ("browser_use terminate", 40, 10_000),
    "swe": ("bash str_replace_editor skill terminate", 60, 10_000),
    "data_analysis": (
        "python_execute data_visualization make_report skill terminate",
        40,
        15_000,
    ),
}


@pytest.mark.parametrize("name", _CONTRACT)
def test_a_profile_has_the_tools_and_limits_of_the_contract(name: str) -> None:
    profile = profile_named(name.upper())
    tools, *limits = _CONTRACT[name]
    assert set(profile.tools) == set(tools.split())
    assert profile.name == name
    assert [profile.max_steps, profile.max_observe] == limits


def test_the_planner_has_what_manus_has_and_a_plan() -> None:
    assert profile_named("planner").tools == ("planning", *profile_named("manus").tools)


@pytest.mark.parametrize("name", PROFILES)
def test_its_prompts_can_be_filled_in_and_its_tools_be_built(name: str, tmp_path: Path) -> None:
    profile = PROFILES[name]
    assert len(render(profile.system_prompt, workspace=tmp_path, place="")) > 500
    assert profile.next_step_prompt
    catalog = build_catalog(profile.tools, Session(Workspace(tmp_path)))
    tools = [tool for tool in profile.tools if tool != "mcp"]
    assert catalog.names() == tools
    assert set(profile.special_tools) <= set(tools) <= set(BUILT_IN)


def test_all_but_the_planner_carry_out_the_steps_of_a_plan() -> None:
    assert all_executors() == ("manus", "browser", "swe", "data_analysis")
    assert all_executors("swe") == ("swe", "manus", "browser", "data_analysis")
    assert build_flow(all_executors("planner")).name == "flow"


def test_an_unknown_name_lists_the_known_ones(home: Path) -> None:
    known = "manus, browser, swe, data_analysis, planner"
    assert _refusal("poet") == f"There is no profile `poet`; known are: {known}."
    _write(home, "[profiles.Poet]\n")
    assert _refusal("pot").endswith(f"known are: {known}, Poet.")


def test_one_of_the_file_is_what_it_says_over_what_it_is_based_on(home: Path) -> None:
    _write(
        home,
        """
        [profiles.short]
        based_on = "swe"
        description = "A hasty engineer."
        tools = ["Bash", "terminate"]
        max_steps = 3
        max_observe = 500
        role = "summary"
        system_prompt = "You work in $workspace for $$5."

        """,
    )
    assert profile_named("Short") == replace(
        profile_named("swe"),
        name="short",
        description="A hasty engineer.",
        tools=("Bash", "terminate"),
        system_prompt="You work in $workspace for $$5.",
        max_steps=3,
        max_observe=500,
        role="summary",
    )
    assert list(all_profiles()) == [*PROFILES, "short"]


_WRONG = {
    "[profiles.mine]\nmax_steps = 0": "`profiles.mine.max_steps` is 0, which does not fit",
    '[profiles.mine]\nbased_on = "swee"': "`mine` can be based on manus, browser, swe",
    '[profiles.mine]\nsystem_prompt = "$5"': "`system_prompt` of the profile `mine` holds a `$`",
    '[profiles.mine]\nrole = "poet"': "role `poet`, which is not configured; known are: extract, m",
    "[profiles.mine]\n[profiles.SWE]": "There is a profile `swe` already",
}


@pytest.mark.parametrize(("toml", "said"), _WRONG.items())
def test_one_that_does_not_fit_is_said_in_a_sentence(toml: str, said: str, home: Path) -> None:
    _write(home, toml)
    assert said in _refusal()


def test_a_tool_whose_module_fails_is_said_when_the_profile_is_built(home: Path) -> None:
    (home / "failing_tools.py").write_text("x = 1 / 0\n")
    _write(home, '[profiles.mine]\ntools = ["failing_tools:x"]')
    assert "(ZeroDivisionError: division by zero)" in _refusal()


def test_a_profile_made_in_python(home: Path) -> None:
    (home / "my_agents.py").write_text(
        "from dataclasses import replace\n"
        "from manus.graph.profiles import SWE\n"
        'TESTER = replace(SWE, name="tester", max_steps=4)\n'
        "NUMBER = 4\n"
    )
    assert profile_named("my_agents:TESTER").max_steps == 4
    assert build_agent("my_agents:TESTER").profile.name == "tester"
    assert "`my_agents:NUMBER`" in _refusal("my_agents:NUMBER")
