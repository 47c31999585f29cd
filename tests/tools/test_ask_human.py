"""`ask_human`: a question to the person, through LangGraph's interrupt; and `terminate`."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict, cast

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, Send

from manus.state.agent import ToolTask
from manus.tools.ask_human import AskHuman
from manus.tools.call import call_tool
from manus.tools.catalog import Catalog
from manus.tools.session import Session
from manus.tools.terminate import Terminate


class State(TypedDict, total=False):
    questions: list[str]
    said: Annotated[list[str], operator.add]


def _graph(session: Session) -> CompiledStateGraph[Any, Any, Any, Any]:
    """One task for each question, as the agent's graph has one for each call."""
    catalog = Catalog([AskHuman(session=session)])

    async def act(task: ToolTask) -> State:
        outcome = await call_tool(
            task, session=session, catalog=catalog, key=task["id"], max_observe=10_000
        )
        return {"said": [str(outcome.message.text)]}

    def to_tasks(state: State) -> list[Send]:
        return [
            Send("act", ToolTask(index=i, id=f"c{i}", name="ask_human", args={"inquire": question}))
            for i, question in enumerate(state["questions"])
        ]

    builder = StateGraph(State)
    builder.add_node("act", cast(Any, act))
    builder.add_conditional_edges(START, to_tasks, ["act"])
    return builder.compile(checkpointer=InMemorySaver())


async def test_the_answer_is_the_observation(session: Session) -> None:
    graph = _graph(session)
    config: Any = {"configurable": {"thread_id": "t"}}
    waiting = await graph.ainvoke({"questions": ["Which colour?"]}, config)
    [asked] = waiting["__interrupt__"]
    assert asked.value == {"kind": "question", "question": "Which colour?"}
    assert session.journal.look_up("c0") is None, "a question is no effect"
    result = await graph.ainvoke(Command(resume=3), config)
    assert result["said"] == ["3"]


async def test_two_questions_are_both_asked_and_each_gets_its_answer(session: Session) -> None:
    graph = _graph(session)
    config: Any = {"configurable": {"thread_id": "t"}}
    waiting = await graph.ainvoke({"questions": ["One?", "Two?"]}, config)
    answers = {i.id: f"to {i.value['question']}" for i in waiting["__interrupt__"]}
    result = await graph.ainvoke(Command(resume=answers), config)
    assert result["said"] == ["to One?", "to Two?"]


async def test_a_question_is_needed(session: Session) -> None:
    observation = await Catalog([AskHuman(session=session)]).execute("ask_human", {})
    assert observation.is_error
    assert "`inquire` is missing" in observation.text


@pytest.mark.parametrize("args", [{}, {"status": "done"}, {"status": None}])
async def test_terminate_needs_one_of_its_two_statuses(
    session: Session, args: dict[str, str]
) -> None:
    catalog = Catalog([Terminate(session=session)])
    assert not (await catalog.execute("terminate", {"status": "failure"})).is_error
    refused = await catalog.execute("terminate", args)
    assert refused.is_error
    assert '"success", "failure"' in refused.text
