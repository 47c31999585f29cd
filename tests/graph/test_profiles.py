"""Agent profiles: those included in the package, and the user's own."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from manus.calls.catalog import BUILT_IN, build_catalog
from manus.calls.session import Session
from manus.graph import build_agent, build_flow, build_graph
from manus.graph.profiles import PROFILES, all_executors, all_profiles, find_profile
from manus.prompts import render
from manus.state.errors import SettingsError
from manus.workspace.workspace import Workspace

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide an empty working directory, importable only during the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path


def _write(home: Path, toml: str) -> None:
    (home / "manus.toml").write_text(toml, encoding="utf-8")


def _refusal(name: str = "mine") -> str:
    with pytest.raises(SettingsError) as caught:
        find_profile(name)
    message = str(caught.value)
    assert "\n" not in message
    return message


GENERAL = (
    "python_execute bash browser_use web_search str_replace_editor skill delegate remember recall"
)
CONTRACT = {
    "manus": (f"{GENERAL} ask_human terminate mcp", 60, 10_000),
    "browser": ("browser_use terminate", 40, 10_000),
    "swe": ("bash str_replace_editor skill terminate", 60, 10_000),
    "data_analysis": ("python_execute data_visualization make_report skill terminate", 40, 15_000),
}


def test_profiles_have_the_tools_and_limits_of_the_contract(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    for name, (tools, steps, characters) in CONTRACT.items():
        with subtests.test(name=name, tools=tools):
            profile = find_profile(name.upper())
            assert (profile.name, set(profile.tools)) == (name, set(tools.split()))
            assert (profile.max_steps, profile.max_observe) == (steps, characters)
    assert find_profile("planner").tools == ("planning", *find_profile("manus").tools)
    for profile in PROFILES.values():
        with subtests.test(profile=profile):
            assert len(render(profile.system_prompt, workspace=tmp_path, place="")) > 500
            assert profile.next_step_prompt
            catalog = build_catalog(profile.tools, Session(Workspace(tmp_path)))
            built = [tool for tool in profile.tools if tool != "mcp"]
            assert catalog.names() == built
            assert set(profile.special_tools) <= set(built) <= set(BUILT_IN)
    assert all_executors() == ("manus", "browser", "swe", "data_analysis")
    assert all_executors("swe") == ("swe", "manus", "browser", "data_analysis")
    assert build_flow(all_executors("planner")).name == "flow"


def test_a_profile_in_the_file_is_an_executor(home: Path) -> None:
    (home / "manus.toml").write_text('[profiles.writer]\nbased_on = "swe"\n')
    assert all_executors("swe", all_profiles())[-1] == "writer"
    assert "writer" in build_graph("flow", "manus").executors


def test_an_unknown_name_lists_the_known_ones(home: Path) -> None:
    names = "manus, browser, swe, data_analysis, planner"
    assert _refusal("poet") == f"Profile `poet` does not exist; available profiles: {names}."
    _write(home, "[profiles.Poet]\n")
    assert _refusal("pot").endswith(f"available profiles: {names}, Poet.")


def test_a_profile_in_the_file_overrides_its_base(home: Path) -> None:
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
    assert find_profile("Short") == replace(
        find_profile("swe"),
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
    "[profiles.mine]\nmax_steps = 0": "`profiles.mine.max_steps` is 0, which is not valid",
    '[profiles.mine]\nbased_on = "swee"': "cannot be based on `swee`, only on manus, browser, swe",
    '[profiles.mine]\nsystem_prompt = "$5"': "of the profile `mine` contains an unknown `$` v",
    '[profiles.mine]\nrole = "poet"': "`poet`, which is not configured; configured roles: extract",
    "[profiles.mine]\n[profiles.SWE]": "Profile `swe` already exists",
    '[profiles.mine]\ntools = ["failing_tools:x"]': "(ZeroDivisionError: division by zero)",
}


def test_an_invalid_profile_is_reported_in_one_sentence(
    home: Path, subtests: pytest.Subtests
) -> None:
    (home / "failing_tools.py").write_text("x = 1 / 0\n")
    for toml, message in _WRONG.items():
        with subtests.test(toml=toml, message=message):
            _write(home, toml)
            assert message in _refusal()


def test_a_profile_defined_in_python(home: Path) -> None:
    (home / "my_agents.py").write_text(
        "from dataclasses import replace\n"
        "from manus.graph.profiles import SWE\n"
        'TESTER = replace(SWE, name="tester", max_steps=4)\n'
        "NUMBER = 4\n"
    )
    assert find_profile("my_agents:TESTER").max_steps == 4
    assert build_agent("my_agents:TESTER").profile.name == "tester"
    assert "`my_agents:NUMBER`" in _refusal("my_agents:NUMBER")
