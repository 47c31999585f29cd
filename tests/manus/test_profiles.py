"""`manus profiles`, and `--profile`."""

from collections.abc import Callable
from pathlib import Path

from tests.manus.program import Program, Result

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


def test_one_that_does_not_fit(typed: Callable[..., Result]) -> None:
    Path("manus.toml").write_text('[profiles.x]\ntools = ["bsh"]\n')
    result = typed("profiles")
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert "The profile `x`: There is no tool `bsh`. Did you" in result.err
