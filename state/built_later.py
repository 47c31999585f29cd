"""Pydantic models that build their validators when they are first used, not when defined."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import BaseModel


@contextmanager
def built_when_used() -> Iterator[None]:
    """Every model that is defined in the block is built at its first use.

    For libraries that define dozens of which a run uses none. It is pydantic's own `defer_build`,
    given to classes that do not say it themselves; subclasses of theirs have it too.
    """
    inherited = BaseModel.model_config
    before = inherited.get("defer_build")
    inherited["defer_build"] = True
    try:
        yield
    finally:
        if before is None:
            inherited.pop("defer_build", None)
        else:
            inherited["defer_build"] = before
