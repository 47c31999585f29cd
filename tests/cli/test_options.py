"""Options of `run` mean the same for `flow` and `resume`: limits, profiles."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click
import pytest

from manus.cli.options import parse_limits
from manus.runs.configuration import build_context
from manus.runs.options import RunOptions, context_options, stored_options
from tests.cli.program import Program, Result, wait_for_file
from tests.flow.helpers import is_planner, is_step, is_summary, makes, succeeds
from tests.server import ScriptedServer, call, calls, text

SWE = ["bash", "str_replace_editor", "skill", "terminate"]
WORK = calls(call("bash", command="echo 1"))


def test_of_a_flow(manus: Program, server: ScriptedServer) -> None:
    server.when(is_planner, makes("alpha"))
    server.when(is_step("alpha"), call("bash", command="echo made > a"), succeeds("Alpha done."))
    server.when(is_summary, text("All is done."))
    options = ["--workspace", "place", "--max-steps", "2", "--profile", "swe", "--quiet"]
    arguments = ["--model", "openai:of-flag", "--record", "turns.jsonl", "--thread", "t", "--json"]
    result = manus(
        "flow", *options, *arguments, "Do it.", MANUS_PROFILE="browser", MANUS_MAX_STEPS="1"
    )
    assert (result.code, result.err) == (0, "")
    assert (result.thread, result.json["output"]) == ("t", "All is done.")
    assert (manus.home / "place" / "a").read_text() == "made\n"
    assert {request.body["model"] for request in server.requests} == {"of-flag"}
    [step, _] = [request for request in server.requests if is_step("alpha")(request)]
    assert step.tool_names == SWE
    assert len((manus.home / "turns.jsonl").read_text().splitlines()) >= 4
    assert not manus.workspace.exists()


def test_of_a_resume(manus: Program, server: ScriptedServer) -> None:
    server.script(call("bash", command="echo begun > begun; sleep 300"))
    with manus.start("run", "--thread", "t", "--max-steps", "3", "work"):
        wait_for_file(manus.workspace / "begun")
    server.script(call("bash", command="echo on > on"), text("Done."))
    options = ["--workspace", "place", "--max-steps", "9", "--profile", "swe"]
    arguments = ["--model", "of-flag", "--record", "turns.jsonl", "--json"]
    result = manus("resume", *options, *arguments, "t")
    assert (result.code, result.json["output"]) == (0, "Done.")
    assert "Step 2/9" in result.err
    assert (manus.home / "place" / "on").read_text() == "on\n"
    last = server.requests[-1]
    assert (last.body["model"], last.tool_names) == ("of-flag", SWE)
    assert (manus.home / "turns.jsonl").read_text()


def test_limits(subtests: pytest.Subtests) -> None:
    assert parse_limits(" cost = .50 , tokens=1.5M,") == {"cost": 0.5, "tokens": 1_500_000}
    assert parse_limits("seconds=10m,tool-calls=0,tool_calls=7") == {
        "seconds": 600,
        "tool_calls": 7,
    }
    for wrong in ("tokens", "token=5", "200k", "tokens=0", "cost=1k"):
        with subtests.test(wrong=wrong), pytest.raises(click.BadParameter):
            parse_limits(wrong)


def test_the_last_limit_applies_and_is_stored(manus: Program, server: ScriptedServer) -> None:
    unknown = manus("run", "--budget", "cost=0.50", "Count")
    assert (unknown.code, "`scripted` has no price" in unknown.err) == (2, True)
    server.script(calls(call("ask_human", inquire="Which?")))
    arguments = ("--budget", "model_calls=9", "--budget=model_calls=3")
    waiting = manus("run", "--json", "--thread", "t", *arguments, "Ask me")
    assert waiting.json["stop_reason"] == "interrupted"
    server.script(WORK, WORK)
    result = manus("resume", "--json", "--answer", "Blue", "t")
    assert (result.code, result.json["stop_reason"]) == (1, "budget")
    assert result.json["usage"]["model_calls"] == 3
    server.script(WORK)
    outcome = manus("resume", "--json", "--budget", "model_calls=4", "t")
    assert (outcome.json["stop_reason"], outcome.json["usage"]["model_calls"]) == ("budget", 4)


_OWN = """
profile = "translator"

[profiles.translator]
based_on = "swe"
description = "翻译文本 and keeps its tone."
tools = ["str_replace_editor", "word_tools:count_words", "terminate"]
max_steps = 1
system_prompt = "You translate files in $workspace."
"""
_TOOLS = '''def count_words(text: str) -> int:
    """How many words a text has."""
    return len(text.split())
'''


def test_they_are_listed(bare: Program) -> None:
    (bare.home / "manus.toml").write_text(_OWN, encoding="utf-8")
    (bare.home / "word_tools.py").write_text(_TOOLS)
    result = bare("profiles")
    assert (result.code, result.err) == (0, "")
    names = [line.split()[0] for line in result.out.splitlines() if line[:1] != " "]
    assert names == ["manus", "browser", "swe", "data_analysis", "planner", "translator"]
    assert "swe (60 steps)\n  A software engineer: " in result.out
    assert "\n  tools: bash, str_replace_editor, skill, terminate\n" in result.out
    assert max(map(len, result.out.splitlines())) <= 80
    assert result.out.endswith(
        "\ntranslator (1 step, from manus.toml)\n  翻译文本 and keeps its tone.\n"
        "  tools: str_replace_editor, count_words, terminate\n"
    )


def test_an_invalid_profile(typed: Callable[..., Result]) -> None:
    Path("manus.toml").write_text('[profiles.x]\ntools = ["bsh"]\n')
    result = typed("profiles")
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert "The profile `x`: There is no tool `bsh`. Did you" in result.err


def test_options_with_the_name_of_a_context_field_are_part_of_the_context() -> None:
    """And all of them are stored, except those that belong to one process."""
    options = RunOptions(
        workspace="w", max_steps=7, budget=({"tokens": 5},), model="m", approve="ask"
    )
    context = build_context(replace(options, approve_plan=True, interactive=False))
    settings = context.model_dump(include=context_options(), exclude_defaults=True)
    assert settings == {
        "workspace": "w",
        "max_steps": 7,
        "model": "m",
        "approve": "ask",
        "approve_plan": True,
        "budget": {"tokens": 5},
    }
    assert stored_options() == {"allow", "approve", "approve_plan", "budget", "max_steps", "model"}
