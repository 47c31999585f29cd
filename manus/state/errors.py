"""The exception tree. Each message is a sentence for users: what failed, why, and what to do.

ManusError
├── UsageError                 wrong usage or configuration (exit code 2)
│   ├── SettingsError          a setting is missing, unknown or invalid
│   └── ThreadBusyError        another run is using the thread
├── StorageError               checkpoints cannot be read or written
│   ├── StorageUnavailableError  the database is unavailable, even after retries
│   └── TakenOverError         another process has continued the thread
├── ModelError                 a model call failed permanently
│   ├── ModelUnavailableError  the server is unavailable (429, 5xx, connection error, timeout),
│   │                          even after retries
│   ├── ModelRefusedError      a permanent failure: key, model name, request
│   ├── ModelReplyError        the reply is unusable: empty, truncated, one passage repeated
│   ├── ContextOverflowError   the request is larger than the model's context window
│   ├── BudgetError            the run's budget has no room for the call
│   └── ReplayMismatchError    a recording does not contain this conversation
└── ToolError                  the model can correct its call: the message is the observation
    ├── ToolUnavailableError   a retry will not help
    └── PlanError              an invalid change of a plan

`UsageError` and `PlanError` are also `ValueError`s: the LangGraph server shows their messages to
clients, and hides those of others.
"""

from __future__ import annotations


class ManusError(Exception):
    """Base class of all errors that this project raises on purpose."""


class UsageError(ManusError, ValueError):
    """Wrong usage or configuration."""


class SettingsError(UsageError):
    """A setting that is missing, unknown or invalid."""


class ThreadBusyError(UsageError):
    """Another run is using the thread: concurrent runs would fork its history."""


class StorageError(ManusError):
    """A failure to read or write checkpoints."""


class StorageUnavailableError(StorageError):
    """The database was unavailable for the whole retry time; it may be available later."""


class TakenOverError(StorageError):
    """Another process continued the thread while this one was unresponsive."""


class ModelError(ManusError):
    """A permanent failure of a model call."""


class ModelUnavailableError(ModelError):
    """The model server was unavailable for the whole retry time; it may be available later."""


class ModelRefusedError(ModelError):
    """The endpoint refused the key, the model name or the request."""


class ModelReplyError(ModelError):
    """A reply that is still unusable after a second request."""


class ContextOverflowError(ModelError):
    """The request is larger than the model's context window.

    Attributes:
        endpoint: Address and model that refused the request: a fallback's window may be smaller.
        is_guess: Whether only the size of the request suggests that it is why it was refused.
    """

    def __init__(
        self,
        message: str,
        endpoint: tuple[str | None, str | None] = (None, None),
        *,
        is_guess: bool = False,
    ) -> None:
        super().__init__(message)
        self.endpoint = endpoint
        self.is_guess = is_guess


class BudgetError(ModelError):
    """The run's budget has no room for another model call.

    Attributes:
        over: The limit that is reached, in words.
    """

    def __init__(self, over: str) -> None:
        super().__init__(f"The budget has no room for another model call: {over}.")
        self.over = over


class ReplayMismatchError(ModelError):
    """A conversation that the recording does not contain."""


class ToolError(ManusError):
    """A failed call that the model can correct; the message becomes the observation.

    Attributes:
        source: The source of text that the message quotes (`prompts/sources.py`); empty for none.
    """

    source = ""


class ToolUnavailableError(ToolError):
    """The tool does not work on this machine; the same call would fail again."""


class PlanError(ToolError, ValueError):
    """An invalid change of a plan; shown to the model, or to the user who edits the plan."""
