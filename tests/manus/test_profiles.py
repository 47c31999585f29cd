"""`manus profiles`, and `--profile`."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.manus.program import Program, Result
from tests.server import ScriptedServer, call, text

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


@pytest.fixture
def own(bare: Program) -> Program:
    (bare.home / "manus.toml").write_text(_OWN, encoding="utf-8")
    (bare.home / "word_tools.py").write_text(_TOOLS)
    return bare


def test_they_are_listed(bare: Program) -> None:
    result = bare("profiles")
    assert (result.code, result.err) == (0, "")
    names = [line.split()[0] for line in result.out.splitlines() if line[:1] != " "]
    assert names == ["manus", "browser", "swe", "data_analysis", "planner"]
    assert "swe (60 steps)\n  A software engineer: " in result.out
    assert "\n  tools: bash, str_replace_editor, skill, terminate\n" in result.out
    assert max(map(len, result.out.splitlines())) <= 80


def test_one_of_the_configuration_is_listed(own: Program) -> None:
    assert (
        "\ntranslator (1 step, from manus.toml)\n  翻译文本 and keeps its tone.\n"
        "  tools: str_replace_editor, count_words, terminate\n"
    ) in own("profiles").out


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        (
            '[profiles.x]\ntools = ["bsh"]\n',
            "The profile `x`: There is no tool `bsh`. Did you",
        ),
        ('[profiles.x]\ntols = ["bash"]\n', "`profiles.x.tols`, which is not a setting"),
        ('[profiles.x]\ntools = ["gone:f"]\n', "No module named 'gone'"),
        ('[profiles.x]\ntools = ["textwrap:MAX"]\n', "has no attribute 'MAX'"),
        ('[profiles.x]\ntools = ["math:pi"]\n', "`math:pi` is no tool but of the type `float`"),
        (
            '[profiles.x]\ntools = ["bash", "os:getcwd", "BASH"]\n',
            "`os:getcwd` is no tool but of the type `builtin_function_or_method`",
        ),
    ],
)
def test_one_that_does_not_fit(typed: Callable[..., Result], toml: str, said: str) -> None:
    Path("manus.toml").write_text(toml)
    result = typed("profiles")
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert said in result.err


def test_a_run_that_calls_it(manus: Program, own: Program, server: ScriptedServer) -> None:
    (own.home / "manus.toml").write_text(_OWN.replace("max_steps = 1", "max_steps = 2"))
    server.script(call("count_words", text="one 二 three"), text("Three."))
    result = manus("run", "--profile", "translator", "Count.")
    assert (result.code, result.out) == (0, "Three.\n"), result.err
    assert "call    count_words: one 二 three\n" in result.err
    assert server.requests[-1].messages[-2] == {
        "role": "tool",
        "tool_call_id": server.requests[-1].messages[-2]["tool_call_id"],
        "content": "3",
    }
