"""The context of a run: a frozen, JSON-serializable object that Studio can show as a form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from langchain_core.callbacks import BaseCallbackManager
from pydantic import BaseModel, Field

from manus.config.safety_settings import ApproveMode
from manus.state.usage import Budget

ToolChoice = Literal["none", "auto", "required"]
HELD = "__manus_held"
"""Key in a run's configuration: the caller has already locked the thread."""


class Context(BaseModel, frozen=True, extra="forbid"):
    """Options of a run that the caller may set; all have defaults."""

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
    """Return whether a callback handler may be listening; False only if there is certainly none.

    The callback manager of a run has all handlers that were requested when it started, by its
    configuration, the environment or a context manager. LangChain creates managers, tasks and
    copies of the history for each call even without handlers: with many concurrent runs, that is a
    sixth of their work.
    """
    callbacks = (config or {}).get("callbacks")
    if not isinstance(callbacks, BaseCallbackManager):
        return True
    return bool(callbacks.handlers or callbacks.inheritable_handlers)
