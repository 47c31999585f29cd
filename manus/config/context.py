"""The run configuration: one frozen, JSON-able object that Studio can fill from a form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from langchain_core.callbacks import BaseCallbackManager
from pydantic import BaseModel, Field

from manus.config.safety_settings import ApproveMode
from manus.state.usage import Budget

ToolChoice = Literal["none", "auto", "required"]
HELD = "__manus_held"
"""Where a run's configuration says that whoever begins it holds its thread already."""


class Context(BaseModel, frozen=True, extra="forbid"):
    """What a caller may choose for a run; everything has a default."""

    workspace: str | None = Field(
        None, description="The one directory the run may write to (default ./workspace)"
    )
    model: str | None = Field(None, description="PROVIDER:NAME, NAME or replay:FILE")
    base_url: str | None = Field(
        None,
        description="Address of an OpenAI-compatible server; a configured key is not sent there",
    )
    max_steps: int | None = Field(None, ge=1, description="Step budget (default: the profile's)")
    max_observe: int | None = Field(
        None, ge=200, description="Characters of an observation that the model sees"
    )
    tool_choice: ToolChoice = Field("auto", description="none, auto or required")
    text_reply: Literal["finish", "continue"] = Field(
        "finish", description="What a reply without a tool call means: the answer, or a step"
    )
    duplicate_threshold: int = Field(
        2, ge=1, description="Earlier repetitions that make a loop of a repeated text"
    )
    interactive: bool = Field(
        False, description="Whether a person is there to be asked when the run is stuck"
    )
    conversation: bool = Field(
        False,
        description="Whether a person reads each reply and can answer: none is sent back for "
        "announcing work without doing it",
    )
    record: str | None = Field(None, description="File to which the model's turns are recorded")
    max_parallel_steps: int = Field(3, ge=1, description="Steps of a plan at work side by side")
    max_replans: int = Field(2, ge=0, description="Revisions of a plan after a step was blocked")
    approve_plan: bool = Field(
        False, description="Whether a person approves each plan before it is carried out"
    )
    approve: ApproveMode | None = Field(
        None, description="Which calls need approval: ask, auto, yolo, or refuse"
    )
    budget: Budget = Field(default_factory=lambda: Budget(), description="Upper limits of the run")


def is_watched(config: Mapping[str, Any] | None) -> bool:
    """False only where it is certain: inside a run whose callbacks have no handler.

    The manager of a run has everybody who was asked for when the run began, by its configuration,
    the environment or a context manager. LangChain tells handlers of each call, and makes managers,
    tasks and copies of the history for it, whether or not there are any: with many runs at once
    that is a sixth of their work.
    """
    callbacks = (config or {}).get("callbacks")
    if not isinstance(callbacks, BaseCallbackManager):
        return True
    return bool(callbacks.handlers or callbacks.inheritable_handlers)
