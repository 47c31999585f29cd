"""Check state changes made by a person, and reopen runs that have ended."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, cast, get_type_hints

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Overwrite
from pydantic import TypeAdapter, ValidationError

from manus.graph.chat_state import FILES, TODOS
from manus.graph.outcome import is_over
from manus.prompts import flow as prompts
from manus.prompts.agent import STOPPED_REPLY
from manus.state.errors import UsageError
from manus.state.flow import FlowState
from manus.state.history import append_messages, without_closings
from manus.state.plan import Plan
from manus.state.plan_changes import fold_plan, fold_plans

if TYPE_CHECKING:
    from manus.graph.run_graph import RunGraph

Update = dict[str, Any]


def check_update(
    values: Any, current: Mapping[str, Any], state: type = FlowState
) -> dict[str, Any]:
    """Return the values to write, with changes of the plan merged into the whole plan.

    Raises:
        UsageError: the values do not fit the state.
        PlanError: the plan is invalid.
    """
    if not isinstance(values, Mapping):
        raise UsageError(
            f"A change of the state is an object such as {{'plan': …}}, not {values!r}."
        )
    checked = dict(values)
    types = _types(state)
    for name, value in values.items():
        if name not in types:
            names = ", ".join(types)
            raise UsageError(f"The state has no `{name}`; it has: {names}.")
        if name == FILES or (name == TODOS and "active_plan" in types):
            _check_derived(name, value, current)
            del checked[name]
        elif name == "plan":
            checked[name] = _merge_plan(value, cast(Plan, current.get("plan") or {}))
        elif not isinstance(value, Overwrite):
            _check(name, value, types[name])
    return checked


def _check_derived(name: str, value: Any, current: Mapping[str, Any]) -> None:
    """Check that a derived value is unchanged; some clients send back all values."""
    empty: Any = {} if name == FILES else []
    if value != current.get(name, empty):
        where = "the file in the workspace" if name == FILES else "the plan in `plans`"
        raise UsageError(f"`{name}` only shows the thread's state: change {where} instead.")


def _merge_plan(value: Any, current: Plan) -> Overwrite:
    """Return the changed plan. A step in progress starts again, and its notes mention it."""
    if isinstance(value, Overwrite):
        current = cast(Plan, {})
        value = value.value
    if not isinstance(value, list):
        value = [value or {"steps": []}]
    plan = fold_plan(current, value)
    restarts = []
    for index, step in enumerate(plan["steps"]):
        has_context = step["notes"] or step.get("waiting")
        if step["status"] == "in_progress" and not has_context:
            restarts.append({"step": index, "notes": prompts.BEGUN_BEFORE})
    return Overwrite(fold_plan(plan, restarts))


def _check(name: str, value: Any, kind: TypeAdapter[Any]) -> None:
    try:
        if name == "messages":
            append_messages([], [value])
        else:
            kind.validate_python(value)
        if name == "plans":
            fold_plans({}, [value])
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        path = ".".join([name, *map(str, first["loc"])])
        raise UsageError(f"`{path}` does not fit the state: {first['msg']}.") from None
    except (ValueError, TypeError, NotImplementedError) as error:
        raise UsageError(f"`{name}` does not fit the state: {error}.") from None


@cache
def _types(state: type) -> dict[str, TypeAdapter[Any]]:
    """Return the type of each channel; None deletes a plan of the thread."""
    hints = get_type_hints(state)
    hints["plans"] = dict[str, dict[str, Any] | None]
    return {name: TypeAdapter(kind) for name, kind in hints.items()}


async def reopen(graph: RunGraph, config: RunnableConfig) -> bool:
    """Reopen the newest run of a thread, so that None as input resumes it.

    An agent continues with `think`. A flow retries blocked steps and starts the remaining ones.
    Return False without a change if the run has not ended or was successful.
    """
    snapshot = await graph.aget_state(config)
    values = snapshot.values
    if not is_over(snapshot) or values.get("stop_reason") is None or values.get("success"):
        return False
    update: Update = {"status": "running", "stop_reason": None, "success": None, "output": ""}
    if "executors" in values["run"]:
        node = _reopen_flow(values, update)
    else:
        node = _reopen_agent(values, update)
    await graph.aupdate_state(config, update, as_node=node)
    return True


async def keep_stopped_reply(graph: RunGraph, config: RunnableConfig, text: str) -> None:
    """Append the text that an agent had streamed when its run was stopped to the thread.

    The person has read it, so the model must know it, too. The run continues with `think`.
    """
    reply = AIMessage(f"{text.rstrip()}\n\n{STOPPED_REPLY}")
    update: Update = {"status": "idle", "stop_reason": None, "success": None}
    update |= {"messages": [reply], "output": text.strip()}
    await graph.aupdate_state(config, update, as_node="stuck_check")


def _reopen_agent(values: Mapping[str, Any], update: Update) -> str:
    """Add the reopened run of an agent to the update, and return the node before it."""
    run = dict(values["run"])
    run.pop("closing", None)
    messages = without_closings(values.get("messages", []))
    if values["stop_reason"] == "error" and not (messages and isinstance(messages[-1], AIMessage)):
        run["step"] -= 1  # the model did not reply: the step is repeated
    update |= {"run": run, "loop": None}
    if values["stop_reason"] == "stuck":
        update["trail"] = Overwrite([])
    return "stuck_check"


def _reopen_flow(values: Mapping[str, Any], update: Update) -> str:
    """Add the reopened run of a flow to the update, and return the node before it."""
    plan = values.get("plan")
    run = dict(values["run"])
    if not plan or run["approval"] == "wanted":
        return "plan"
    run.pop("over", None)
    update["run"] = {**run, "revised": []}
    update["plan"] = [
        {"step": index, "status": "not_started"}
        for index, step in enumerate(plan["steps"])
        if step["status"] == "blocked"
    ]
    return "execute_step"
