"""The space that a request has: the model's window, and what always stands in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from manus.models.model_names import DEFAULT_MODEL
from manus.models.tokens import Calibration, estimate_text, estimate_tools
from manus.nodes.active_run import Running
from manus.prompts import agent as prompts
from manus.prompts.compaction import with_instructions

_AROUND = 7
"""Tokens around the system prompt and the request."""
_LEAST = 0.1
"""Part of the window that is counted on for the history however much stands around it."""


@dataclass(frozen=True, slots=True)
class Space:
    """The space of a request. Tokens; those of the prompt and the tools as estimated."""

    model: str
    """As errors call it."""
    window: int
    is_certain: bool
    """Whether the window was set, or named by the server; else it is told from the model's name."""
    prompt: float
    tools: float
    calibration: Calibration
    reply: int
    """What is kept free for the reply, where its length is limited."""

    @property
    def fixed(self) -> float:
        """What stands around the history, as the server counts it."""
        return self.calibration.factor * (self.prompt + self.tools)

    @property
    def room(self) -> float:
        """What is left for the history; not calibrated, so that it stays the same."""
        return max(self.window - self.prompt - self.tools, _LEAST * self.window)

    @property
    def full(self) -> float:
        """The size of a request that leaves nothing but the reply free."""
        return self.window - min(self.reply, self.window / 2)


def space_of(
    running: Running, role: str, workspace: str, instructions: Sequence[str] = ()
) -> Space:
    """The space of a request to the model of a role, as things are now."""
    endpoint, window = running.client.endpoint(role), running.client.window(role)
    model = endpoint.model or DEFAULT_MODEL
    text = prompts.system_prompt(running.profile.system_prompt, workspace)
    return Space(
        model=model,
        window=window.size,
        is_certain=window.is_certain,
        prompt=_AROUND + _tokens(with_instructions(text, instructions)),
        tools=estimate_tools(running.catalog.schemas()),
        calibration=running.client.calibration.get(model) or Calibration(),
        reply=endpoint.max_tokens or 0,
    )


@lru_cache(32)
def _tokens(prompt: str) -> float:
    return estimate_text(prompt)
