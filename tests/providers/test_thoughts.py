"""What Anthropic's, Google's and Bedrock's models thought goes back to them as it came."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk

from manus.state.messages import thinking_in
from tests.providers.conftest import ProvidedAgent
from tests.providers.turns import Json, Refusal, Turn
from tests.server import ScriptedServer, call


@pytest.fixture
def thinker(agent: ProvidedAgent) -> ProvidedAgent:
    """An agent whose provider thinks."""
    agent.streamed = True
    return agent


def use(place: int) -> Json:
    """A call in Anthropic's form."""
    given = {"path": "a", "line": str(place)}
    return {"type": "tool_use", "id": f"toolu_{place}", "name": "append", "input": given}


def thought(said: str, signature: str) -> Json:
    return {"type": "thinking", "thinking": said, "signature": signature}


REDACTED = {"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix/LafPsn4a"}
SAID = {"type": "text", "text": "I write."}


def assistant(agent: ProvidedAgent, place: int = 0) -> list[Json]:
    """The blocks of an assistant's message in the last request."""
    body: Any = agent.server.requests[-1].body
    if agent.provider == "google":
        found = [c["parts"] for c in body["contents"] if c["role"] == "model"]
    else:
        found = [m["content"] for m in body["messages"] if m["role"] == "assistant"]
    blocks: list[Json] = found[place]
    return blocks


CALLED = {"functionCall": {"name": "append", "args": {"path": "a", "line": "0"}}}
SECOND = {"functionCall": {"name": "append", "args": {"path": "a", "line": "1"}}}
MUSED = {"text": "First.", "thought": True}
SIGNATURE = "c2lnbmVk"
REASONED = {"reasoningContent": {"reasoningText": {"text": "First.", "signature": SIGNATURE}}}
THEN = {"reasoningContent": {"reasoningText": {"text": "Then.", "signature": "dHdv"}}}
USED = {"toolUse": {"toolUseId": "t0", "name": "append", "input": {"path": "a", "line": "0"}}}
AGAIN = {"toolUse": {"toolUseId": "t1", "name": "append", "input": {"path": "a", "line": "1"}}}
BLOCKS: dict[str, tuple[Json, ...]] = {
    "anthropic redacted": (thought("First.", SIGNATURE), REDACTED, SAID, use(0), use(1)),
    "anthropic between calls": (thought("First.", "one"), use(0), thought("Then.", "two"), use(1)),
    "anthropic two not shown": (thought("", "one"), thought("", "two"), use(0), use(1)),
    "google after a thought": (
        *(MUSED, {"text": "I write."}, {**CALLED, "thoughtSignature": SIGNATURE}, SECOND),
    ),
    "google of the text": ({"text": "I write.", "thoughtSignature": "eHh4"}, CALLED, SECOND),
    "google each its own": (
        {**CALLED, "thoughtSignature": "AbCd"},
        {**SECOND, "thoughtSignature": "DeFg"},
    ),
    "bedrock before": (REASONED, {"text": "I write."}, USED, AGAIN),
    "bedrock between calls": (REASONED, USED, THEN, AGAIN),
}


def unthought(parts: Iterable[Json]) -> list[Json]:
    """Without the words of a thought: Google does not ask for them."""
    return [part for part in parts if "thought" not in part]


def without_ids(agent: ProvidedAgent) -> list[Json]:
    """What the last request has of the model, without the ids that Google's calls get."""
    sent = assistant(agent)
    if agent.provider != "google":
        return sent
    return [{k: v for k, v in part.items() if k != "id"} for part in sent]


@pytest.mark.parametrize(
    ("provider", "blocks"),
    [(name.split()[0], blocks) for name, blocks in BLOCKS.items()],
    ids=BLOCKS,
)
async def test_they_go_back_in_order(thinker: ProvidedAgent, blocks: tuple[Json, ...]) -> None:
    outcome = await thinker.ask(Turn(blocks=blocks), Turn(text="Done."))
    assert outcome.output == "Done."
    assert thinker.lines("a") == ["0", "1"]
    assert unthought(without_ids(thinker)) == unthought(blocks)


SIGNED = {
    "anthropic": BLOCKS["anthropic redacted"],
    "google": BLOCKS["google after a thought"],
    "bedrock": BLOCKS["bedrock before"],
}


@pytest.mark.parametrize("provider", list(SIGNED))
async def test_no_other_gets_them(
    thinker: ProvidedAgent, server: ScriptedServer, tmp_path: Path
) -> None:
    """A compatible server as the fallback; then the provider's model has its own again."""
    other = f'{{model = "other", base_url = "{server.base_url}"}}'
    (tmp_path / "manus.toml").write_text(f"fallback = [{other}]\n")
    server.script(call("append", path="a", line="1"))
    blocks = SIGNED[thinker.provider]
    refused = Refusal(400, "ValidationException", "The request was flagged.")
    replies = (Turn(blocks=blocks), refused, Turn(text="Done."))
    pieces = [data[0] for mode, data in await thinker.watch(*replies) if mode == "messages"]
    shown = [thinking_in(piece) for piece in pieces if isinstance(piece, AIMessageChunk)]
    assert "".join(shown) == "First."
    [sent] = [m for m in server.requests[-1].messages if m["role"] == "assistant"]
    assert "I write." in json.dumps(sent["content"])
    assert set(sent) == {"role", "content", "tool_calls"}
    assert not any(word in json.dumps(sent) for word in ("First.", SIGNATURE, "extras", "index"))
    assert unthought(without_ids(thinker)) == unthought(blocks)
