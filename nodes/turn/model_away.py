"""A model server that is away: the run stops at its step, and goes on from there when resumed."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphInterrupt
from langgraph.types import Interrupt

from manus.nodes.active_run import Running
from manus.state.errors import ModelUnavailableError

KIND = "model"


def waits_for_model(
    error: ModelUnavailableError, running: Running, config: RunnableConfig
) -> GraphInterrupt:
    """The interrupt that leaves the node to be run again, whatever it is resumed with.

    It is made by hand: `interrupt()` would take the answers of earlier resumes for its own.
    """
    running.session.waiting = True
    question = f"{error} Nothing is lost: resume the run to try again."
    namespace = str(config["configurable"].get("checkpoint_ns", ""))
    return GraphInterrupt([Interrupt.from_ns({"kind": KIND, "question": question}, namespace)])
