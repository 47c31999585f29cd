"""What makes the command line start fast; nothing else uses it, and a library does none of it.

Without it, the time to the first request is more than twice that of a plain loop on `openai`.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import BaseModel


def load() -> None:
    """Import what a run needs."""
    with _paused_collector(), _built_when_used():
        import langchain_openai  # noqa: F401

        import manus.conduct
        import manus.graph.agent
        import manus.sqlite  # noqa: F401


@contextmanager
def _built_when_used() -> Iterator[None]:
    """Every model that is defined in the block is built at its first use.

    `openai` and `langsmith` define over a thousand, of which a run uses few. It is pydantic's own
    `defer_build`, given to classes that do not say it themselves.
    """
    inherited = BaseModel.model_config
    inherited["defer_build"] = True
    try:
        yield
    finally:
        inherited.pop("defer_build", None)


@contextmanager
def _paused_collector() -> Iterator[None]:
    """No collection of garbage in the block: what it makes lives as long as the process."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
