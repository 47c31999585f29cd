"""What a person writes into a graph's state, and what has a run that has ended go on."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, cast, get_type_hints

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Overwrite
from pydantic import TypeAdapter, ValidationError

from manus.graph.chat_state import FILES, TODOS
from manus.prompts import flow as prompts
from manus.state.errors import UsageError
from manus.state.flow import FlowState
from manus.state.messages import append_messages
from manus.state.plan import Plan
from manus.state.plan_changes import fold_plan, fold_plans

if TYPE_CHECKING:
    from manus.graph.run_graph import RunGraph

Update = dict[str, Any]


def checked_update(
    values: Any, present: Mapping[str, Any], state: type = FlowState
) -> dict[str, Any]:
    """The values as they are to be written; a whole plan as the person meant it.

    Raises:
        UsageError: they do not fit the state.
        PlanError: the plan does not.
    """
    if not isinstance(values, Mapping):
        raise UsageError(
            f"A change of the state is an object such as {{'plan': …}}, not {values!r}."
        )
    checked = dict(values)
    types = _types(state)
    for name, value in values.items():
        if name not in types:
            known = ", ".join(types)
            raise UsageError(f"The state has no `{name}`; it has: {known}.")
        if name == FILES or (name == TODOS and "active_plan" in types):
            _check_derived(name, value, present)
            del checked[name]
        elif name == "plan":
            checked[name] = _plan(value, cast(Plan, present.get("plan") or {}))
        elif not isinstance(value, Overwrite):
            _check(name, value, types[name])
    return checked


def _check_derived(name: str, value: Any, present: Mapping[str, Any]) -> None:
    """Check that nobody changes what is derived; some clients send all that they were shown."""
    if value != present.get(name, {} if name == FILES else []):
        where = "the file in the workspace" if name == FILES else "the plan in `plans`"
        raise UsageError(f"`{name}` only shows the thread's state: change {where} instead.")


def _plan(value: Any, present: Plan) -> Overwrite:
    """The plan that it makes. A step that was under way begins anew, and is told so."""
    if isinstance(value, Overwrite):
        present = cast(Plan, {})
        value = value.value
    plan = fold_plan(present, value if isinstance(value, list) else [value or {"steps": []}])
    again = [
        {"step": index, "notes": prompts.BEGUN_BEFORE}
        for index, step in enumerate(plan["steps"])
        if step["status"] == "in_progress" and not (step["notes"] or step.get("waiting"))
    ]
    plan = fold_plan(plan, again)
    return Overwrite(plan)


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
        place = ".".join([name, *map(str, first["loc"])])
        raise UsageError(f"`{place}` does not fit the state: {first['msg']}.") from None
    except (ValueError, TypeError, NotImplementedError) as error:
        raise UsageError(f"`{name}` does not fit the state: {error}.") from None


@cache
def _types(state: type) -> dict[str, TypeAdapter[Any]]:
    """What each channel holds; a plan of the thread can be deleted by None."""
    hints = get_type_hints(state)
    hints["plans"] = dict[str, dict[str, Any] | None]
    return {name: TypeAdapter(kind) for name, kind in hints.items()}


async def reopen(graph: RunGraph, config: RunnableConfig) -> bool:
    """Have the newest run of a thread go on when the graph is next given None.

    An agent thinks again. A flow tries again what was blocked, and begins what had not begun.
    False, and nothing is changed, where the run has not ended or did what was asked.
    """
    values = (await graph.aget_state(config)).values
    if values.get("stop_reason") is None or values.get("success"):
        return False
    update: Update = {"status": "running", "stop_reason": None, "success": None, "output": ""}
    if "executors" in values["run"]:
        node = _reopen_flow(values, update)
    else:
        node = _reopen_agent(values, update)
    await graph.aupdate_state(config, update, as_node=node)
    return True


def _reopen_agent(values: Mapping[str, Any], update: Update) -> str:
    """Add what goes on in an agent to the update: it forgets the loop that it was stuck in."""
    run = {k: v for k, v in values["run"].items() if k != "closing"}
    messages = values.get("messages", [])
    if values["stop_reason"] == "error" and not (messages and isinstance(messages[-1], AIMessage)):
        run["step"] -= 1  # the model was asked in vain: the step is still to be taken
    update |= {"run": run, "loop": None}
    if values["stop_reason"] == "stuck":
        update["trail"] = Overwrite([])
    return "stuck_check"


def _reopen_flow(values: Mapping[str, Any], update: Update) -> str:
    """Add what goes on in a flow to the update; the node after which it does."""
    plan = values.get("plan")
    run = dict(values["run"])
    if not plan or run["approval"] == "wanted":
        return "plan"
    run.pop("over", None)
    blocked = [i for i, step in enumerate(plan["steps"]) if step["status"] == "blocked"]
    update["run"] = {**run, "revised": []}
    update["plan"] = [{"step": index, "status": "not_started"} for index in blocked]
    return "execute_step"
