"""What servers say that a call used."""

from pathlib import Path
from typing import Any

import pytest

from manus.models.tokens import cache_tokens, usage_metadata
from tests.helpers.agent import ScriptedAgent
from tests.nodes.test_chunks import STOP, read
from tests.server import call, calls, said, text, tokens

Said = dict[str, Any]
OK = {"prompt_tokens": 50, "completion_tokens": 3, "total_tokens": 53}


def details(**more: Any) -> Said:
    return {**OK, "prompt_tokens_details": more}


# figures, and what they mean: input, output, read from the cache, written to it
FIGURES: dict[str, tuple[Said, tuple[int, int, int, int]]] = {
    "OpenRouter": (details(cached_tokens=20, cache_write_tokens=30), (50, 3, 20, 30)),
    "DeepSeek": ({**OK, "prompt_cache_hit_tokens": 20}, (50, 3, 20, 0)),
    "xAI leaves thoughts out of the reply": (
        {**OK, "total_tokens": 153, "completion_tokens_details": {"reasoning_tokens": 100}},
        (50, 103, 0, 0),
    ),
    "Google has thoughts in the total alone": ({**OK, "total_tokens": 853}, (50, 803, 0, 0)),
    "below zero": ({**OK, "completion_tokens": -3, "total_tokens": -1}, (50, 0, 0, 0)),
    "details as text": ({**OK, "prompt_tokens_details": "{}"}, (50, 3, 0, 0)),
}


def test_what_figures_mean() -> None:
    for name, (usage, meant) in FIGURES.items():
        found = usage_metadata(usage)
        assert found is not None
        read, written = cache_tokens(dict(found["input_token_details"]))
        assert (found["input_tokens"], found["output_tokens"], read, written) == meant, name
    # Anthropic's package leaves the sum at nothing where it names the kinds
    kinds = {"ephemeral_5m_input_tokens": 3, "ephemeral_1h_input_tokens": 4}
    assert cache_tokens({"cache_read": 5, "cache_creation": 0, **kinds}) == (5, 7)


END: Said = {"choices": [], "usage": OK}
SO_FAR: Said = said({"content": "H"}, usage={**OK, "completion_tokens": 1})


def test_figures_are_counted_once() -> None:
    for chunks in (
        [said({"content": "Hi."}), STOP, END],
        [said({"content": "Hi."}), said({}, "stop", usage=OK)],
        [SO_FAR, said({"content": "i."}, usage=OK), said({}, "stop", usage=OK), END],
    ):
        message, _ = read(*chunks)
        usage = message.usage_metadata
        assert usage is not None
        assert (usage["input_tokens"], usage["output_tokens"]) == (50, 3)


async def test_a_reply_with_and_without_figures(agent: ScriptedAgent) -> None:
    figures = tokens(50, 3, cached=20)
    usage = (await agent.run(text("Hello.", usage=figures))).usage
    assert (usage["input_tokens"], usage["output_tokens"], usage["cached_tokens"]) == (50, 3, 20)
    assert not usage.get("estimated")
    for thread, no_figures in (("text", {"prompt_tokens": "x"}), ("zeros", tokens(0, 0))):
        silent = calls(call("poll"), usage=no_figures)
        usage = (await agent.run(silent, text("Hello.", usage=figures), thread=thread)).usage
        assert usage["model_calls"] == 2
        assert usage["estimated"] is True, "the sum is, though one of them is known"
        assert 50 < usage["input_tokens"] - 50 < 1_000
        assert usage["output_tokens"] > 3


async def test_the_model_that_is_asked_where_none_is_named_has_its_price(
    agent: ScriptedAgent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit of cost was taken, and could not be held: the calls had no cost."""
    (tmp_path / "manus.toml").write_text("[prices.gpt-5]\ninput = 1.0\noutput = 10.0\n")
    monkeypatch.setenv("MANUS_API_KEY", "sk-x")
    monkeypatch.setenv("MANUS_BASE_URL", agent.server.base_url)
    hello = text("Hello.", usage=tokens(1_000_000, 10))
    outcome = await agent.run(hello, model=None, base_url=None)
    assert agent.server.requests[0].model == "gpt-5"
    assert outcome.usage["cost"] == pytest.approx(1.0001)
