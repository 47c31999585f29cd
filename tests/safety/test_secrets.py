"""Secrets that a model enters by name, and never reads."""

import json
from pathlib import Path

import pytest
from langgraph.types import Command

from manus.config.safety_settings import SecretSettings, mask
from manus.graph import build_agent
from tests.helpers.agent import ScriptedAgent
from tests.safety.conftest import Internet
from tests.safety.test_injection import PROFILE, go, page
from tests.server import call, text

SECRET = "correct horse/battery"
FORM = (
    '<form action="/in"><input name="word"></form><iframe src="http://notbank.example/"></iframe>'
)


@pytest.fixture
def agent(
    agent: ScriptedAgent, internet: Internet, monkeypatch: pytest.MonkeyPatch
) -> ScriptedAgent:
    """Provide an agent that may enter the password of a bank."""
    internet.pages["bank.example/"] = FORM
    internet.pages["notbank.example/"] = '<input name="word">'
    internet.pages["bank.example/in"] = f"<p>You are in with {SECRET}.</p>"
    monkeypatch.setenv("BANK_WORD", SECRET)
    (agent.workspace.parent / "manus.toml").write_text(
        f'[egress]\nupstream_proxy = "{internet.base}"\n'
        '[secrets]\nbank = { env = "BANK_WORD", host = "bank.example" }\n'
    )
    agent.graph = build_agent(PROFILE, checkpointer=agent.saver)
    return agent


async def test_a_secret_is_entered_by_name(
    agent: ScriptedAgent, internet: Internet, tmp_path: Path
) -> None:
    typed = page("input_text", index=1, text="<secret:bank>\n")
    agent.server.script(go("bank.example/"), typed)
    waiting = await agent.run(request="Log in.")
    assert "secret bank" in waiting.output, "a page has been read before"
    read = page("extract_content")
    program = call("bash", command="env; echo $BANK_WORD")
    outcome = await agent.invoke(Command(resume="yes"), read, program, text("Done."))
    assert outcome.stop_reason == "answered"
    assert internet.at("bank.example")[-1].startswith("bank.example/in?word=correct")
    observations = await agent.observations()
    assert "<secret:bank>" in observations[1]
    assert "in with <secret:bank>" in observations[2]
    requests = json.dumps([request.body for request in agent.server.requests])
    assert "<secret:bank> on bank.example" in requests
    contents = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    assert not [content for content in [requests.encode(), *contents] if b"battery" in content]


async def test_no_other_host_and_no_other_name(agent: ScriptedAgent, internet: Internet) -> None:
    elsewhere = page("input_text", index=2, text="<secret:bank>")
    other = page("input_text", index=1, text="<secret:other>")
    agent.server.script(go("bank.example/"), elsewhere, other, text("Done."))
    await agent.run(request="Log in.", approve="yolo")
    _, to_another_host, of_another_name = await agent.observations()
    assert "notbank.example" in to_another_host
    assert "`other`" in of_another_name
    assert not [arrival for arrival in internet.arrived if "word=" in arrival]


def test_truncated_output_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "abcdefghijklmnopqrstuvwxyz")
    secrets = {"key": SecretSettings(env="KEY", host="a.example")}
    assert mask("is abcdefghijklmnopqrstu… or", secrets) == "is <secret:key> or"
