"""How much a model can say in one reply."""

from __future__ import annotations

from manus.models.model_names import DEFAULT_MODEL, split_spec
from manus.models.windows import window_of
from manus.nodes.active_run import Running
from manus.state.model_settings import ModelSettings

_LONGEST = (
    ("gpt-5", 128_000),
    ("gpt-4.1", 32_768),
    ("gpt-4o", 16_384),
    ("gpt-4-turbo", 4_096),
    ("gpt-3.5", 4_096),
    ("o1", 100_000),
    ("o3", 100_000),
    ("o4", 100_000),
    ("claude", 128_000),
    ("gemini", 65_536),
)
"""As the providers' pages on their models say, thoughts included; of a family the longest."""


def longest_reply(settings: ModelSettings, running: Running) -> int:
    """Tokens of the longest reply: as the model's name says, else as many as its window."""
    window = window_of(settings, running)
    name = split_spec(settings.model or DEFAULT_MODEL)[1].rpartition("/")[2].lower()
    known = next((size for begin, size in _LONGEST if name.startswith(begin)), window)
    return min(known, window)
