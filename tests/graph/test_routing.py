"""The routers of the agent graph, as tables."""

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from manus.graph.routing import route_after_stuck_check, route_after_think
from manus.nodes.turn.fingerprint import call_fingerprint
from manus.prompts import agent as prompts
from manus.state.agent import AgentState, Loop, StopReason, ToolTask

USER = HumanMessage("Do it.", id="u")


def asks(*names: str, bad: tuple[str, ...] = (), at: tuple[int, ...] = ()) -> AIMessage:
    return AIMessage(
        "",
        tool_calls=[
            {"name": name, "args": {"n": n}, "id": f"c{n}", "type": "tool_call"}
            for n, name in enumerate(names)
        ],
        invalid_tool_calls=[
            {"name": n, "args": "{", "id": f"b{n}", "error": None, "type": "invalid_tool_call"}
            for n in bad
        ],
        additional_kwargs={"malformed_at": list(at)} if at else {},
    )


def after(message: AIMessage, loop: Loop | None = None) -> list[ToolTask]:
    state: AgentState = {"messages": [USER, message], "loop": loop}
    sends = route_after_think(state)
    assert isinstance(sends, list)
    assert [send.node for send in sends] == ["act"] * len(sends)
    return [send.arg for send in sends]


AFTER_THINK: list[tuple[AgentState, str]] = [
    ({"messages": [USER, AIMessage("42")]}, "no_call"),
    ({"messages": [USER, AIMessage("")]}, "no_call"),
    ({"messages": [USER], "stop_reason": "error"}, "error"),
    ({"messages": [USER], "stop_reason": "budget"}, "budget"),
    ({"messages": [USER, asks("bash")], "stop_reason": "error"}, "error"),
]


def test_after_think() -> None:
    for state, label in AFTER_THINK:
        assert route_after_think(state) == label


def test_each_call_is_a_task_in_call_order_and_a_malformed_one_is_refused_there() -> None:
    asked = asks("bash", "read")
    state: AgentState = {"messages": [USER, asked, ToolMessage("x", tool_call_id="c0")]}
    sends = route_after_think(state)
    assert isinstance(sends, list)
    assert [send.arg["id"] for send in sends] == ["c1"]
    state["messages"].append(ToolMessage("y", tool_call_id="c1"))
    assert route_after_think(state) == "no_call", "what has been answered is not made again"
    tasks = after(asks("bash", "read", bad=("edit",), at=(1,)))
    assert [(t["index"], t["id"], t["name"]) for t in tasks] == [
        (0, "c0", "bash"),
        (1, "bedit", "edit"),
        (2, "c1", "read"),
    ]
    assert tasks[2]["args"] == {"n": 1}
    assert [("refusal" in task) for task in tasks] == [False, True, False]
    assert "JSON" in tasks[1]["refusal"]
    # those after a special one are refused
    tasks = after(asks("Terminate", "bash", "terminate", bad=("edit", "x"), at=(0, 3)))
    first, *refusals = [task.get("refusal") for task in tasks]
    assert first is not None
    assert "JSON" in first, "what is wrong with it, not that it stands behind another"
    assert refusals == [None, *[prompts.after_special("Terminate")] * 3]


def test_calls_that_go_round_are_refused_once_a_hint_has_not_helped() -> None:
    loop: Loop = {
        "kind": "call",
        "what": "`bash` was called 4 times.",
        "measure": "hint",
        "calls": [call_fingerprint("bash", {"n": 0})],
        "refused": [],
        "since": 4,
    }
    made = asks("Bash", "bash", "read")
    assert not any("refusal" in task for task in after(made, loop))
    loop["measure"] = "refuse"
    first, *others = after(made, loop)
    assert "4 times" in first["refusal"]
    assert not any("refusal" in task for task in others)


def test_after_stuck_check() -> None:
    assert route_after_stuck_check({"stop_reason": None}) == "next_step"
    reasons: list[StopReason] = ["terminated", "answered", "max_steps", "budget", "stuck", "error"]
    assert [route_after_stuck_check({"stop_reason": reason}) for reason in reasons] == reasons
