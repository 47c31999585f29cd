"""The source of each value of a run: context, settings or profile."""

from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import pytest

from manus.config.context import Context
from manus.config.model_settings import ModelSettings
from manus.config.profile import Profile
from manus.config.run_settings import NO_PROFILE, RunSettings, resolve_settings
from manus.config.safety_settings import ApproveSettings
from manus.config.settings import Settings
from manus.state.usage import Budget

PROFILE = Profile("p", "", (), "", "", max_steps=5, max_observe=5000, model="of-profile")
PLAIN = replace(PROFILE, model=None)
SETTINGS = Settings(
    model="of-settings",
    base_url="http://settings/v1",
    workspace="of-settings",
    max_steps=7,
    budget=Budget(tokens=70, seconds=7),
    approve=ApproveSettings(mode="ask", allow=("bash(ls)",)),
    roles={"summary": ModelSettings(model="of-role")},
)
CONTEXT = Context(
    model="of-context",
    base_url="http://context/v1",
    workspace="of-context",
    max_steps=9,
    max_observe=9000,
    budget=Budget(tokens=90),
    approve="auto",
    allow=("bash(pwd)",),
    interactive=True,
)


def main_model(run: RunSettings) -> str | None:
    return run.for_role("main").model


def address(run: RunSettings) -> str | None:
    return run.for_role("main").base_url


JOINED = ("bash(ls)", "bash(pwd)")
PRECEDENCE: list[tuple[str, Any, Any, Any, Any]] = [
    # the value of context and all, of settings and profile, of the profile alone
    ("model", main_model, "of-context", "of-profile", "of-profile"),
    ("base_url", address, "http://context/v1", "http://settings/v1", None),
    ("workspace", lambda run: run.workspace, "of-context", "of-settings", "./workspace"),
    ("max_steps", lambda run: run.max_steps, 9, 7, 5),
    ("max_observe", lambda run: run.max_observe, 9000, 5000, 5000),
    ("approve.mode", lambda run: run.approve.mode, "auto", "ask", "auto"),
    ("approve.allow", lambda run: run.approve.allow, JOINED, JOINED[:1], ()),
    ("budget.tokens", lambda run: run.budget.tokens, 90, 70, None),
    ("budget.seconds", lambda run: run.budget.seconds, 7, 7, None),
    ("interactive", lambda run: run.interactive, True, False, False),
]


@pytest.mark.parametrize(
    ("read", "from_context", "from_settings", "from_profile"),
    [row[1:] for row in PRECEDENCE],
    ids=[row[0] for row in PRECEDENCE],
)
def test_the_first_source_that_sets_a_value_wins(
    read: Any, from_context: Any, from_settings: Any, from_profile: Any
) -> None:
    assert read(resolve_settings(SETTINGS, CONTEXT, PROFILE)) == from_context
    assert read(resolve_settings(SETTINGS, Context(), PROFILE)) == from_settings
    assert read(resolve_settings(Settings(), Context(), PROFILE)) == from_profile


@pytest.mark.parametrize(
    ("context", "profile", "outer_model", "model"),
    [
        pytest.param(CONTEXT, PROFILE, "of-outer", "of-context", id="context"),
        pytest.param(Context(), PROFILE, "of-outer", "of-profile", id="profile"),
        pytest.param(Context(), PLAIN, "of-outer", "of-outer", id="outer run"),
        pytest.param(Context(), PLAIN, None, "of-settings", id="settings"),
    ],
)
def test_the_model_of_a_role(
    context: Context, profile: Profile, outer_model: str | None, model: str
) -> None:
    run = resolve_settings(SETTINGS, context, profile, outer_model=outer_model)
    assert run.for_role("main").model == model
    assert run.for_role("plan").model == model
    assert run.for_role("summary").model == "of-role", "a custom role has its own model"
    assert run.for_role("summary").base_url == "http://settings/v1"


@pytest.mark.parametrize(
    ("mode", "interactive", "can_ask"),
    [("auto", True, True), ("auto", False, False), ("refuse", True, False)],
)
def test_a_person_is_asked_unless_all_questions_are_refused(
    mode: Any, interactive: bool, can_ask: bool
) -> None:
    context = Context(approve=mode, interactive=interactive)
    assert resolve_settings(Settings(), context).interactive is can_ask
    settings = Settings(approve=ApproveSettings(mode=mode))
    assert resolve_settings(settings, Context(interactive=interactive)).interactive is can_ask


@pytest.mark.parametrize(
    ("in_settings", "has_memory", "memory"),
    [(True, True, True), (True, False, False), (False, True, False)],
)
def test_memory_is_off_if_either_source_disables_it(
    in_settings: bool, has_memory: bool, memory: bool
) -> None:
    run = resolve_settings(Settings(memory=in_settings), has_memory=has_memory)
    assert run.memory is memory


def test_each_field_of_the_context_and_section_of_the_settings_is_resolved() -> None:
    run = resolve_settings(SETTINGS, CONTEXT, PROFILE)
    fields = set(RunSettings.__dataclass_fields__)
    assert Context.model_fields.keys() - fields == {"allow"}, "its rules are joined to `approve`"
    by_other_name = {"context"}  # the section of compaction
    of_other_code = {"bell_after", "checkpoint", "prices", "currency", "profiles", "queue", "roles"}
    sections = Settings.model_fields.keys() - ModelSettings.model_fields.keys()
    assert sections - fields == by_other_name | of_other_code
    with pytest.raises(FrozenInstanceError):
        run.max_steps = 3  # type: ignore[misc]


def test_a_session_without_a_run_has_the_defaults() -> None:
    run = resolve_settings(Settings())
    assert (run.profile, run.max_observe, run.interactive) == (NO_PROFILE, 10_000, False)


def test_only_the_module_that_resolves_reads_the_sources_in_a_run() -> None:
    package = Path(__file__).parents[2] / "manus"
    readers = set()
    for folder in ("models", "workspace", "sandbox", "threads", "calls", "tools", "nodes"):
        for path in (package / folder).rglob("*.py"):
            source = path.read_text("utf-8")
            if "config.settings import" in source or "context_source" in source:
                readers.add(path.relative_to(package).as_posix())
    assert readers == {
        "calls/session.py",  # the defaults of a session outside a run
        "models/prices.py",  # `prices` and `currency`, which no run changes
        "threads/open_store.py",  # selects the store, before a run
        "tools/mcp/references.py",  # what a request names, before a run
        "nodes/active_run.py",  # loads the settings
        "nodes/subagent.py",  # builds the context of a nested run
    }
