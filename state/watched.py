"""Whether anybody listens to what happens in a call: a tracer, a stream of tokens, a handler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.callbacks import BaseCallbackManager


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
