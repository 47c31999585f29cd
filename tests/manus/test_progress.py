import io
from typing import Any

import pytest

from manus.progress import Progress
from manus.report import summary_of
from manus.screen import Screen
from manus.state.usage import no_usage


@pytest.fixture
def stream(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    monkeypatch.delenv("COLUMNS", raising=False)
    return io.StringIO()


def _shown(stream: io.StringIO, *events: dict[str, Any]) -> list[str]:
    progress = Progress(Screen(stream))
    for event in events:
        progress.show("custom", event)
    return stream.getvalue().splitlines()


def _call(number: int, name: str, **args: Any) -> dict[str, Any]:
    return {"type": "call", "id": f"c{number}", "name": name, "args": args}


def _result(number: int, name: str, text: str, is_error: bool = False) -> dict[str, Any]:
    return {
        "type": "observation",
        "id": f"c{number}",
        "name": name,
        "text": text,
        "is_error": is_error,
        "seconds": 0.31,
    }


def _step(number: int = 3) -> dict[str, Any]:
    return {"type": "step", "step": number, "max_steps": 20}


def _thought(text: str) -> dict[str, Any]:
    return {
        "type": "thought",
        "step": 3,
        "text": text,
        "calls": [],
        "input_tokens": 1204,
        "output_tokens": 85,
        "cached_tokens": 1000,
        "seconds": 1.24,
    }


def test_a_step_is_a_line_for_each_thing(stream: io.StringIO) -> None:
    assert _shown(
        stream,
        {"type": "status", "status": "thinking", "stop_reason": None},
        _step(),
        {**_thought("I will look\nat the folder."), "calls": [{"name": "bash"}]},
        _call(1, "bash", command="ls -l"),
        _result(1, "bash", "total 2\na\nb"),
    ) == [
        "Step 3/20",
        "  thought I will look at the folder.",
        "  model   1.2 s, 1,204 tokens in (1,000 cached), 85 out",
        "  call    bash: ls -l",
        "  done    bash, 0.3 s: total 2 (+2 lines)",
    ]


def test_calls_side_by_side_are_told_apart(stream: io.StringIO) -> None:
    lines = _shown(
        stream,
        _step(),
        _call(1, "str_replace_editor", command="view", path="a.py"),
        _call(2, "str_replace_editor", command="view", path="b.py"),
        _result(2, "str_replace_editor", "There is no file b.py.", is_error=True),
        _result(1, "str_replace_editor", "x = 1"),
    )
    assert lines[3:] == [
        "  failed  str_replace_editor view b.py, 0.3 s: There is no file b.py.",
        "  done    str_replace_editor view a.py, 0.3 s: x = 1",
    ]


def test_what_the_events_tell_is_counted(stream: io.StringIO) -> None:
    progress = Progress(Screen(stream))
    for event in (_step(2), _thought("a"), _result(1, "bash", "x"), _step(3), _thought("b")):
        progress.show("custom", event)
    assert progress.has_begun
    assert progress.steps == 3
    usage = progress.usage
    assert (usage["input_tokens"], usage["model_calls"], usage["tool_calls"]) == (2408, 2, 1)


def test_summary() -> None:
    usage = no_usage()
    usage["input_tokens"], usage["output_tokens"], usage["seconds"] = 12_000, 345, 8.31
    assert summary_of(4, usage) == "4 steps, 12,345 tokens, 8.3 s"
    usage["cost"] = 0.01234
    assert summary_of(1, usage) == "1 step, 12,345 tokens, $0.0123, 8.3 s"
    assert summary_of(1, usage, "€") == "1 step, 12,345 tokens, €0.0123, 8.3 s"
    assert summary_of(1, no_usage()) == "1 step, 0 tokens, 0.0 s"
