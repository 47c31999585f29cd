"""Mark calls that may have effects outside the workspace, which a rewind cannot undo."""

from __future__ import annotations

from manus.calls.result import Observation
from manus.threads.outside_effects import UNCERTAIN


def rate_effect(observation: Observation) -> bool | str:
    """Return the mark of a call that may act outside, by its result; False if it had no effect."""
    if not observation.executed:
        return False
    if not observation.failed:
        return True
    # an error without an exception or a source is about the arguments
    return UNCERTAIN if observation.error is not None or observation.source else False
