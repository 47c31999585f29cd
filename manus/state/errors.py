"""The exception tree. Each message is one sentence that a user may read: what, why, what to do.

ManusError
├── UsageError                 wrong usage or configuration (exit code 2)
│   ├── SettingsError          a setting is missing, unknown or does not fit
│   └── ThreadBusyError        the thread is being worked on by another run
├── StorageError               checkpoints cannot be read or written
│   └── StorageUnavailableError  the database is away; waited for first
├── ModelError                 a model call failed for good
│   ├── ModelUnavailableError  the server is away (429, 5xx, connection, silence); waited for first
│   ├── ModelRefusedError      it will not pass: key, model name, request
│   ├── ModelReplyError        its reply is none: empty, cut off, one passage over and over
│   ├── ContextOverflowError   the request is larger than the model's window
│   ├── BudgetError            the run's budget has no room for the call
│   └── ReplayMismatchError    a recording does not know this conversation
└── ToolError                  the model can do better: said to it as an observation
    ├── ToolUnavailableError   trying again will not help
    └── PlanError              a change of a plan that does not fit

`UsageError` and `PlanError` are `ValueError`s too: what such an error says, the LangGraph server
shows to whoever sent the value; what others say it hides.
"""

from __future__ import annotations


class ManusError(Exception):
    """Base of every error this project raises on purpose."""


class UsageError(ManusError, ValueError):
    """Wrong usage or configuration."""


class SettingsError(UsageError):
    """A setting is missing, unknown or does not fit."""


class ThreadBusyError(UsageError):
    """Two runs at once on one thread would fork its history."""


class StorageError(ManusError):
    """Checkpoints cannot be read or written."""


class StorageUnavailableError(StorageError):
    """The database was away for all the time that it is waited for; it may be there again later."""


class ModelError(ManusError):
    """A model call failed for good."""


class ModelUnavailableError(ModelError):
    """The server was away for all the time that it is waited for; it may be there again later."""


class ModelRefusedError(ModelError):
    """The endpoint refused: key, model name or request."""


class ModelReplyError(ModelError):
    """What came is no reply to go on with, also when it was asked for once more."""


class ContextOverflowError(ModelError):
    """The request is larger than the model's context window.

    Attributes:
        endpoint: Address and model that refused it: a fallback's window may be smaller.
    """

    def __init__(self, said: str, endpoint: tuple[str | None, str | None] = (None, None)) -> None:
        super().__init__(said)
        self.endpoint = endpoint


class BudgetError(ModelError):
    """The run's budget has no room for another model call.

    Attributes:
        over: The budget that has none, in words.
    """

    def __init__(self, over: str) -> None:
        super().__init__(f"The budget has no room for another model call: {over}.")
        self.over = over


class ReplayMismatchError(ModelError):
    """A recording was asked for a conversation that it does not hold."""


class ToolError(ManusError):
    """A call failed in a way the model can mend; the message becomes the observation.

    Attributes:
        source: Where what it quotes comes from, if not from us (`prompts/sources.py`).
    """

    source = ""


class ToolUnavailableError(ToolError):
    """The tool cannot work here; the same call will fail again."""


class PlanError(ToolError, ValueError):
    """A change of a plan does not fit; said to the model, or to the person who edits it."""
