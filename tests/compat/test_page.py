"""The programs of docs/langchain.md, run unchanged against a server on loopback."""

import re
import warnings
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server import ScriptedServer, call, text

PAGE = (Path(__file__).parents[2] / "docs" / "langchain.md").read_text("utf-8")
PROGRAMS = dict(re.findall(r"^```python\n# (\w+)\.py\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))


@pytest.fixture
def run(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a program from the page and return its variables."""
    monkeypatch.setenv("MANUS_MODEL", "scripted")
    monkeypatch.setenv("MANUS_BASE_URL", server.base_url)

    def execute(name: str) -> dict[str, Any]:
        names: dict[str, Any] = {"__name__": name}
        with warnings.catch_warnings():
            # pydantic's warning, about a runtime whose state has no type
            warnings.filterwarnings("ignore", "Pydantic serializer")
            exec(compile(PROGRAMS[name], f"{name}.py", "exec"), names)
        return names

    return execute


def test_all_programs_are_run() -> None:
    source = Path(__file__).read_text("utf-8")
    assert [name for name in PROGRAMS if f'("{name}")' not in source] == []
    assert max(len(program.splitlines()) for program in PROGRAMS.values()) <= 30


def test_structured_output(run: Any, server: ScriptedServer, capsys: Any) -> None:
    server.script(call("read_mail", sender="ACME"), call("Invoice", number="17", total=99.5))
    run("structured_output")
    assert capsys.readouterr().out == "number='17' total=99.5\n"
    assert server.requests[0].body["tool_choice"] == "required"


def test_redact(run: Any, server: ScriptedServer, capsys: Any) -> None:
    server.script(text("Gladly, ada@example.com."))
    run("redact")
    assert capsys.readouterr().out.splitlines() == [
        "My address is [REDACTED_EMAIL]. Write to me.",
        "Gladly, [REDACTED_EMAIL].",
    ]
    assert b"ada@example.com" not in server.requests[0].raw


def test_ask_person(run: Any, server: ScriptedServer, capsys: Any) -> None:
    server.script(call("send_mail", to="ada@example.com", text="Come."), text("Invited."))
    run("ask_person")
    out = capsys.readouterr().out
    assert "'to': 'ada@example.com'" in out
    assert out.endswith("Invited.\n")


def test_state_and_store(run: Any, server: ScriptedServer, capsys: Any) -> None:
    server.script(call("buy", what="tea", price=3), text("Bought."))
    run("state_and_store")
    assert capsys.readouterr().out == "7 ['tea']\n"


def test_supervisor(run: Any, server: ScriptedServer, capsys: Any) -> None:
    server.script(
        call("ask", member="writer", task="Two sentences on tea."),
        text("Tea is hot. Tea is good."),
        call("ask", member="reviewer", task="Tea is hot. Tea is good."),
        text("No mistakes."),
        text("Tea is hot. Tea is good."),
    )
    run("supervisor")
    assert capsys.readouterr().out == "Tea is hot. Tea is good.\n"
    assert "You list the mistakes" in str(server.requests[3].body["messages"][0])


async def test_web_handler(run: Any, server: ScriptedServer) -> None:
    server.script(text("Green or black."))
    transport = httpx.ASGITransport(run("web_handler")["app"])
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
        response = await client.get("/answer", params={"question": "Which tea?"})
    assert response.headers["content-type"].startswith("text/event-stream")
    pieces = re.findall(r"data: (.*)\n\n", response.text)
    assert "".join(pieces) == "Green or black."
