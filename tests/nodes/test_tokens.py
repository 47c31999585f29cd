"""The estimate of tokens, and its correction by the server's own figures."""

from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from manus.models.providers import build_model
from manus.models.tokens import (
    calibrated,
    estimate_message,
    estimate_text,
    learn_window,
    window_of,
)
from manus.state.errors import ContextOverflowError
from manus.state.model_settings import ModelSettings
from tests.helpers.tools import RED_DOT


def test_an_image_is_counted_as_a_picture_not_as_its_letters() -> None:
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{RED_DOT * 900}"}}
    assert 500 < estimate_message(ToolMessage([image], tool_call_id="1")) < 2_000


@pytest.mark.parametrize("word", ["狐", "лис"])
def test_other_scripts_have_more_tokens_than_as_many_english_letters(word: str) -> None:
    written, letters = word * 900, "f" * 900 * len(word)
    assert estimate_text(written) > 1.5 * estimate_text(letters)
    for text in (written, letters):
        said = HumanMessage([{"type": "text", "text": text}])
        call = {"id": "1", "name": "bash", "args": {"command": text}}
        for message in (HumanMessage(text), said, AIMessage("", tool_calls=[call])):
            assert estimate_message(message) == pytest.approx(estimate_text(text), rel=0.1, abs=40)


GPT = ModelSettings.model_validate({"model": "gpt-5", "api_key": "k"})


async def test_settings_then_what_was_learned_then_the_models_profile() -> None:
    model = await build_model(GPT, Path())
    assert window_of(GPT, model) == 272_000
    assert window_of(GPT) == 272_000, "before there is a client, too"
    learn_window(ContextOverflowError("maximum context length is 9000", (None, "gpt-5")), 10_000)
    assert window_of(GPT.model_copy(), model) == 9_000, "whichever run asks"
    assert window_of(GPT.model_copy(update={"context_window": 5_000}), model) == 5_000
    assert window_of(ModelSettings(model="someone/unknown")) == 128_000
    assert window_of(ModelSettings(model="openai/gpt-4-turbo")) == 128_000, "not as gpt-4"


@pytest.mark.parametrize(
    ("said", "window"),
    [("maximum context length is 90000", 8_000), ("It is too long.", 5_000), ("limit 2048", 2_048)],
)
def test_a_window_is_less_than_what_was_refused(said: str, window: int) -> None:
    endpoint = ModelSettings(model="m", base_url="http://learned/v1")
    learn_window(ContextOverflowError(said, (endpoint.base_url, endpoint.model)), 10_000)
    assert window_of(endpoint) == window


def test_estimates_follow_a_server_that_counts_the_same() -> None:
    assert calibrated(1.0, 1_000, 1_500) == 1.5
    assert calibrated(1.5, 1_000, 10) == 1.5, "it counts something else"
