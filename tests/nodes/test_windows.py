"""How large a context window is taken to be."""

from pathlib import Path

from manus.models.factory import build_model
from manus.models.providers import learn_window, window_of
from manus.state.errors import ContextOverflowError
from manus.state.model_settings import ModelSettings

GPT = ModelSettings.model_validate({"model": "gpt-5", "api_key": "k"})


async def test_settings_then_what_was_learned_then_the_models_profile() -> None:
    model = await build_model(GPT, Path())
    assert window_of(GPT, model) == 272_000
    assert window_of(GPT) == 272_000, "before there is a client, too"
    learn_window(GPT, ContextOverflowError("maximum context length is 9000 tokens"), 10_000)
    assert window_of(GPT.model_copy(), model) == 9_000, "whichever run asks"
    assert window_of(GPT.model_copy(update={"context_window": 5_000}), model) == 5_000
    assert window_of(ModelSettings(model="someone/unknown")) == 128_000
