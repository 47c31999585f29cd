"""The context of a run: a frozen, JSON-serializable object that Studio can show as a form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from langchain_core.callbacks import BaseCallbackManager
from pydantic import BaseModel, Field

from manus.config.safety_settings import ApproveMode, Rule
from manus.state.usage import Budget

ToolChoice = Literal["none", "auto", "required"]
HELD = "__manus_held"
"""Key in a run's configuration: the caller has already locked the thread."""
RUNNING = "__manus_running"
"""Key of the active run in its configuration; two underscores keep it out of the checkpoints."""


class Context(BaseModel, frozen=True, extra="forbid"):
    """Options of a run; all have defaults.

    Example:
        context = Context(workspace="site", max_steps=30)
        agent.invoke({"request": "Write a page about tea."}, context=context)
    """

    workspace: str | None = Field(
        default=None, description="The only directory the run may write to [default: ./workspace]"
    )
    model: str | None = Field(default=None, description="PROVIDER:NAME, NAME or replay:FILE")
    base_url: str | None = Field(
        default=None,
        description="Address of an OpenAI-compatible server; a configured key is not sent there",
    )
    max_steps: int | None = Field(
        default=None, ge=1, description="Maximum number of steps [default: the profile's]"
    )
    max_observe: int | None = Field(
        default=None, ge=200, description="Characters of an observation that are shown whole"
    )
    tool_choice: ToolChoice = Field(default="auto", description="none, auto or required")
    text_reply: Literal["finish", "continue"] = Field(
        default="finish",
        description="Effect of a reply without a tool call on the run",
    )
    duplicate_threshold: int = Field(
        default=2, ge=1, description="Repetitions of a text that count as a loop"
    )
    interactive: bool = Field(default=False, description="Whether a person can answer questions")
    conversation: bool = Field(
        default=False,
        description="Whether a person reads each reply and can answer: a reply without a call is "
        "not sent back",
    )
    record: str | None = Field(default=None, description="File to record the model's turns in")
    reuse: str | None = Field(
        default=None,
        description="Recording of a stopped run: the model is not asked again for its turns",
    )
    max_parallel_steps: int = Field(default=3, ge=1, description="Plan steps running in parallel")
    max_replans: int = Field(default=2, ge=0, description="Plan revisions after blocked steps")
    approve_plan: bool = Field(
        default=False, description="Whether a person approves each plan before it is executed"
    )
    allow: tuple[Rule, ...] = Field(
        default=(), description="Rules of calls that need no approval, besides `approve.allow`"
    )
    approve: ApproveMode | None = Field(
        default=None, description="Which calls need approval: ask, auto, yolo, or refuse"
    )
    restore_files: bool = Field(
        default=False,
        description="For a run from an earlier checkpoint: whether to restore the workspace's "
        "files as they were then; files that others have changed since are kept",
    )
    compact: bool = Field(
        default=False, description="Whether notes replace the older turns before the first step"
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
