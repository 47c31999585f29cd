"""What Anthropic's, Google's and Bedrock's models thought goes back to them as it came."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.agent import assert_paired
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
    body: Any = agent.asked.requests[-1].body
    if agent.provider == "google":
        found = [c["parts"] for c in body["contents"] if c["role"] == "model"]
    else:
        found = [m["content"] for m in body["messages"] if m["role"] == "assistant"]
    blocks: list[Json] = found[place]
    return blocks


@pytest.mark.parametrize("provider", ["anthropic"])
@pytest.mark.parametrize(
    "blocks",
    [
        (thought("First.", "one"), REDACTED, SAID, use(0), use(1)),
        (thought("First.", "one"), use(0), thought("Then.", "two"), use(1)),
        (thought("", "one"), thought("", "two"), use(0), use(1)),
    ],
    ids=["redacted", "between calls", "two not shown"],
)
async def test_blocks_of_anthropic_go_back_in_their_order(
    thinker: ProvidedAgent, blocks: tuple[Json, ...]
) -> None:
    outcome = await thinker.ask(Turn(blocks=blocks), Turn(text="Done."))
    assert outcome.output == "Done."
    assert thinker.lines("a") == ["0", "1"]
    assert assistant(thinker) == list(blocks)


CALLED = {"functionCall": {"name": "append", "args": {"path": "a", "line": "0"}}}
SECOND = {"functionCall": {"name": "append", "args": {"path": "a", "line": "1"}}}
MUSED = {"text": "First.", "thought": True}


def unthought(parts: Iterable[Json]) -> list[Json]:
    """Without the words of a thought: Google does not ask for them."""
    return [part for part in parts if "thought" not in part]


@pytest.mark.parametrize("provider", ["google"])
@pytest.mark.parametrize(
    "parts",
    [
        ({**CALLED, "thoughtSignature": "AbCd"}, SECOND),
        (MUSED, {**CALLED, "thoughtSignature": "AbCd"}, SECOND),
        ({"text": "I write.", "thoughtSignature": "eHh4"}, CALLED, SECOND),
        ({**CALLED, "thoughtSignature": "AbCd"}, {**SECOND, "thoughtSignature": "DeFg"}),
    ],
    ids=["the first of two", "after a thought", "of the text", "each its own"],
)
async def test_parts_of_google_go_back_with_their_signatures(
    thinker: ProvidedAgent, parts: tuple[Json, ...]
) -> None:
    outcome = await thinker.ask(Turn(blocks=parts), Turn(text="Done."))
    assert outcome.output == "Done."
    assert thinker.lines("a") == ["0", "1"]
    sent = [{k: v for k, v in part.items() if k != "id"} for part in assistant(thinker)]
    assert unthought(sent) == unthought(parts)


@pytest.mark.parametrize("provider", ["google"])
async def test_a_signature_stays_with_its_call_when_that_gets_another_id(
    thinker: ProvidedAgent,
) -> None:
    """Calls of two replies have the same id; in the history each has its own."""
    replies = [
        Turn(blocks=({"functionCall": {**one["functionCall"], "id": "same"}, **signed},))
        for one, signed in (
            (CALLED, {"thoughtSignature": "AbCd"}),
            (SECOND, {"thoughtSignature": "DeFg"}),
        )
    ]
    await thinker.ask(*replies, Turn(text="Done."))
    assert_paired(await thinker.messages())
    sent = [assistant(thinker, place)[0] for place in (0, 1)]
    assert [part["thoughtSignature"] for part in sent] == ["AbCd", "DeFg"]


@pytest.mark.parametrize("provider", ["google"])
async def test_the_signature_of_a_last_empty_part_goes_back(thinker: ProvidedAgent) -> None:
    parts = ({"text": "Hello."}, {"text": "", "thoughtSignature": "eHh4"})
    assert (await thinker.ask(Turn(blocks=parts))).output == "Hello."
    await thinker.ask(Turn(text="Again."))
    assert "eHh4" in json.dumps(assistant(thinker))


REASONED = {"reasoningContent": {"reasoningText": {"text": "First.", "signature": "c2ln"}}}
USED = {"toolUse": {"toolUseId": "t0", "name": "append", "input": {"path": "a", "line": "0"}}}


AGAIN = {"toolUse": {"toolUseId": "t1", "name": "append", "input": {"path": "a", "line": "1"}}}
THEN = {"reasoningContent": {"reasoningText": {"text": "Then.", "signature": "dHdv"}}}


@pytest.mark.parametrize("provider", ["bedrock"])
@pytest.mark.parametrize(
    "blocks",
    [(REASONED, {"text": "I write."}, USED, AGAIN), (REASONED, USED, THEN, AGAIN)],
    ids=["before", "between calls"],
)
async def test_blocks_of_bedrock_go_back_in_their_order(
    thinker: ProvidedAgent, blocks: tuple[Json, ...]
) -> None:
    outcome = await thinker.ask(Turn(blocks=blocks), Turn(text="Done."))
    assert outcome.output == "Done."
    assert thinker.lines("a") == ["0", "1"]
    assert assistant(thinker) == list(blocks)


SIGNED: dict[str, tuple[Json, ...]] = {
    "anthropic": (thought("First.", "c2lnbmVk"), SAID, use(0)),
    "google": (MUSED, {"text": "I write."}, {**CALLED, "thoughtSignature": "c2lnbmVk"}),
    "bedrock": (
        {"reasoningContent": {"reasoningText": {"text": "First.", "signature": "c2lnbmVk"}}},
        {"text": "I write."},
        USED,
    ),
}
thinking = pytest.mark.parametrize("provider", list(SIGNED))


@thinking
@pytest.mark.parametrize("newer", [False, True], ids=["streamed", "newer"])
@pytest.mark.filterwarnings("ignore:The v3 streaming protocol")
async def test_no_other_model_gets_them(
    thinker: ProvidedAgent,
    newer: bool,
    server: ScriptedServer,
    tmp_path: Path,
) -> None:
    """A compatible server as the fallback; then the provider's model has its own again."""
    other = f'{{model = "other", base_url = "{server.base_url}"}}'
    (tmp_path / "manus.toml").write_text(f"fallback = [{other}]\n")
    server.script(call("append", path="a", line="1"))
    blocks = SIGNED[thinker.provider]
    refused = Refusal(400, "ValidationException", "The request was flagged.")
    replies = (Turn(blocks=blocks), refused, Turn(text="Done."))
    await (thinker.watch_newer if newer else thinker.watch)(*replies)
    [sent] = [m for m in server.requests[-1].messages if m["role"] == "assistant"]
    assert "I write." in json.dumps(sent["content"])
    assert set(sent) == {"role", "content", "tool_calls"}
    assert not any(word in json.dumps(sent) for word in ("First.", "c2lnbmVk", "extras", "index"))
    found = [{k: v for k, v in b.items() if k != "id"} for b in assistant(thinker)]
    if thinker.provider == "anthropic":
        found = assistant(thinker)
    assert unthought(found) == unthought(blocks)
