"""The last message of a run that has ended is an AIMessage whose text is `output`."""

from collections.abc import Sequence
from typing import Any

import pytest
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.types import Command
from pydantic import BaseModel

from manus import build_agent
from manus.graph.state_update import reopen
from manus.scripted import ScriptedModel
from manus.scripted import call as model_call
from manus.scripted import text as model_text
from manus.state.history import close_history, without_closings
from manus.state.messages import CLOSES
from tests.flow.helpers import ScriptedFlow, makes, succeeds
from tests.helpers.agent import ScriptedAgent, thread_config
from tests.server import Request, Scripted, call, calls, fail, text

ANSWER = "The parcel weighs 740 g."
DONE = call("terminate", status="success", answer=ANSWER)
SILENT = call("terminate", status="success")
WORK = call("append", path="a", line="1")
T = thread_config("t")


def assert_is_last(values: Any, output: str) -> None:
    """Assert that the output is the text of the last message, an assistant message."""
    last = values["messages"][-1]
    assert isinstance(last, AIMessage)
    assert not last.tool_calls
    assert last.text == values["output"] == output


def count(request: Request, words: str) -> int:
    """Return how often words occur in the messages of a request."""
    return str(request.messages).count(words)


@pytest.mark.parametrize(
    ("replies", "options"),
    [
        pytest.param([DONE], {}, id="terminate with an answer"),
        pytest.param([calls(DONE, text="I am done.")], {}, id="terminate with both"),
        pytest.param([calls(SILENT, text=ANSWER)], {}, id="terminate beside a text"),
        pytest.param([text(ANSWER)], {}, id="a text"),
        pytest.param([text(f"\n {ANSWER}\n\n")], {}, id="a text with white space"),
        pytest.param([text(ANSWER)], {"conversation": True}, id="a text in a conversation"),
        pytest.param([WORK, text(ANSWER), SILENT], {}, id="a text that was sent back"),
        pytest.param([WORK, WORK, DONE], {"max_steps": 3}, id="terminate in the last step"),
        pytest.param([calls(DONE, WORK)], {}, id="a call after terminate"),
        pytest.param([WORK, call("bundle", path="b"), DONE], {}, id="after other calls"),
    ],
)
async def test_an_answer(
    agent: ScriptedAgent, replies: Sequence[Scripted], options: dict[str, Any]
) -> None:
    await agent.run(*replies, **options)
    assert_is_last(await agent.values(), ANSWER)

    # a later request contains it once, and starts with the earlier ones
    before = agent.server.requests[-1]
    await agent.run(text("You are welcome."), request="Thank you.")
    later = agent.server.requests[-1]
    assert count(later, ANSWER) == 1
    assert later.messages[: len(before.messages) - 1] == before.messages[:-1]
    assert_is_last(await agent.values(), "You are welcome.")
    assert len([m for m in await agent.messages() if ANSWER in m.text]) <= 2


@pytest.mark.parametrize(
    ("replies", "options", "words"),
    [
        ([WORK], {"max_steps": 1}, "Reached max steps (1)"),
        ([text("Hm.")], {"max_steps": 1, "text_reply": "continue"}, "Reached max steps (1)"),
        ([call("terminate", status="failure", answer="There is none.")], {}, "There is none."),
        ([fail(401)], {}, "key"),
    ],
)
async def test_a_run_without_success_ends_with_its_output_too(
    agent: ScriptedAgent, replies: Sequence[Scripted], options: dict[str, Any], words: str
) -> None:
    outcome = await agent.run(*replies, **options)
    assert words in outcome.output
    assert_is_last(await agent.values(), outcome.output)
    assert not outcome.success

    # and again when it has been continued
    if await reopen(agent.graph, T):
        continued = await agent.invoke(None, DONE)
        assert (continued.output, continued.success) == (ANSWER, True)
        is_call = "There is none." in words
        assert count(agent.server.requests[-1], words) == int(is_call)
    else:
        await agent.run(DONE)
    assert_is_last(await agent.values(), ANSWER)
    assert outcome.results == (await agent.outcome()).results[: len(outcome.results)]


async def test_an_answered_question(agent: ScriptedAgent) -> None:
    question = await agent.run(call("ask_human", inquire="Which parcel?"), approve="yolo")
    assert question.stop_reason == "interrupted"
    await agent.invoke(Command(resume="The red one."), DONE)
    assert_is_last(await agent.values(), ANSWER)


async def test_a_wait_that_a_person_ends(agent: ScriptedAgent) -> None:
    await agent.run(call("ask_human", inquire="Which parcel?"), approve="yolo")
    outcome = await agent.invoke(Command(goto="__end__"))
    assert_is_last(await agent.values(), outcome.output)


async def test_a_delegated_task(consulter: ScriptedAgent) -> None:
    outcome = await consulter.run(WORK, DONE)
    assert_is_last(await consulter.values(), outcome.output)


async def test_a_flow(flow: ScriptedFlow) -> None:
    flow.plans(makes("Weigh it"))
    flow.step("Weigh it", succeeds())
    flow.sums_up(text(ANSWER))
    await flow.run()
    assert_is_last(await flow.values(), ANSWER)
    flow.plans(fail(401))
    outcome = await flow.run(request="Once more.")
    assert outcome.stop_reason == "error"
    assert_is_last(await flow.values(), outcome.output)
    assert len([m for m in await flow.messages() if m.text == ANSWER]) == 1


class Weight(BaseModel):
    """A weight."""

    grams: int


@tool(return_direct=True)
def weigh(parcel: str) -> str:
    """Weigh a parcel."""
    return ANSWER


@pytest.mark.parametrize(
    ("keywords", "reply", "output"),
    [
        ({"tools": [weigh]}, model_call("weigh", parcel="red"), ANSWER),
        (
            {"response_format": ToolStrategy(Weight)},
            model_call("Weight", grams=740),
            '{"grams":740}',
        ),
        (
            {"response_format": ProviderStrategy(Weight)},
            model_text('{ "grams": 740 }'),
            '{ "grams": 740 }',
        ),
    ],
    ids=["return_direct", "a tool for structured output", "the provider's structured output"],
)
def test_as_create_agent_is_used(
    own_workspace: Any, keywords: dict[str, Any], reply: AIMessage, output: str
) -> None:
    model = ScriptedModel()
    model.script(reply)
    built = build_agent(model=model, system_prompt="Be brief.", **{"tools": [], **keywords})
    result = built.invoke({"messages": [("user", "What does it weigh?")]})
    assert_is_last(result, output)
    contents = [message.text for message in result["messages"]]
    assert contents.count(output) == (2 if "tools" in keywords else 1)


def test_a_team_member_keeps_the_answer_that_it_got_alone() -> None:
    history: Any = [HumanMessage("Weigh it.", id="h")]
    closed = [*history, *close_history(history, ANSWER)]
    assert closed[-1].additional_kwargs[CLOSES] == "h"
    assert without_closings(closed) == history
    alone = [HumanMessage("A team's request.", id="t"), closed[-1]]
    assert without_closings(alone) == alone
