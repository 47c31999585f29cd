"""Tools that are not ours: LangChain's, LangGraph's, and the user's functions."""

import itertools
import sys
import types
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from langchain_core.callbacks import AsyncCallbackManager
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.prebuilt import InjectedState, InjectedStore, ToolRuntime
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from manus.calls.invoke import observe_call
from manus.calls.result import Image
from manus.calls.session import Session
from manus.calls.user_tools import tool_from_function
from manus.config.context import Context
from manus.graph import build_agent
from manus.state.errors import SettingsError
from manus.threads.journal import Journal
from manus.threads.records.files import FileLog
from tests.helpers.acting import Act, execute_alone
from tests.helpers.agent import TESTER, ScriptedAgent
from tests.server import call, calls, text


async def test_images_of_other_tools_are_kept(session: Session) -> None:
    blocks: list[dict[str, Any]] = [
        {"type": "text", "text": "two pictures"},
        {"type": "image_url", "image_url": {"url": "data:image/gif;base64,MQ=="}},
        {"type": "image", "base64": "Mg==", "mime_type": "image/jpeg"},
        {"type": "text", "text": "and an end"},
    ]

    @tool
    def look() -> list[dict[str, Any]]:
        """Look."""
        return blocks

    message = (await execute_alone(session, look)).message
    assert message.content == [
        {"type": "text", "text": "two pictures\nand an end"},
        Image("MQ==", "image/gif").as_block(),
        Image("Mg==", "image/jpeg").as_block(),
    ]


async def test_a_tool_that_changes_the_state(session: Session) -> None:
    @tool
    def plan() -> Command[Any]:
        """Change the state."""
        message = ToolMessage("planned", tool_call_id="c1")
        return Command(update={"messages": [message], "plan": ["a"]})

    outcome = await execute_alone(session, plan)
    assert (outcome.message.text, outcome.observation.update) == ("planned", {"plan": ["a"]})


async def test_a_tools_result_is_restored_from_the_journal(
    session: Session, tmp_path: Path
) -> None:
    """Even if it is not JSON and another process resumes; the tool is not called again."""
    called: list[str] = []

    @tool
    def keep(call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Keep something."""
        called.append(call_id)
        own = ToolMessage("kept", tool_call_id=call_id, artifact={"n": [1, 2]})
        messages = [HumanMessage("Before."), own, HumanMessage("After.")]
        return Command(update={"messages": messages, "at": datetime(2026, 1, 2, tzinfo=UTC)})

    outcomes = []
    for _ in range(2):
        session.journal = Journal(FileLog(tmp_path / "journal.jsonl"))
        session.journal.open()
        outcomes.append(await execute_alone(session, keep))
        session.journal.close()
    assert called == ["c1"]
    first, again = outcomes
    assert again.message.text == first.message.text == "kept"
    assert again.message.artifact == first.message.artifact
    observation = again.observation
    assert observation.update == {"at": datetime(2026, 1, 2, tzinfo=UTC)}
    assert [m.text for m in (*observation.preceding, *observation.following)] == [
        "Before.",
        "After.",
    ]


async def test_a_picture_by_its_address_is_kept(session: Session) -> None:
    block = {"type": "image_url", "image_url": {"url": "https://a.example/b.png"}}

    @tool
    def look() -> list[dict[str, Any]]:
        """Look."""
        return [{"type": "text", "text": "a picture"}, block]

    message = (await execute_alone(session, look)).message
    assert message.content == [{"type": "text", "text": "a picture"}, block]


async def test_a_synchronous_call_within_an_event_loop_is_refused(session: Session) -> None:
    with pytest.raises(Exception, match="`ainvoke`"):
        Act(session=session).invoke({"text": "x"})


async def test_injected_arguments_are_provided(agent: ScriptedAgent) -> None:
    """In an agent's graph, as in LangGraph's ToolNode; arguments forged by a model are dropped."""
    injected: dict[str, Any] = {}

    @tool
    async def look(
        word: str,
        state: Annotated[dict[str, Any], InjectedState],
        messages: Annotated[list[Any], InjectedState("messages")],
        store: Annotated[Any, InjectedStore()],
        call: Annotated[str, InjectedToolCallId],
        runtime: ToolRuntime[Context, Any],
    ) -> str:
        """Look at what is injected."""
        result = await store.aget(("words",), word)
        injected.update(state=set(state), calls=messages[-1].tool_calls)
        injected["ids"] = {call, runtime.tool_call_id}
        return str(result.value["means"])

    agent.graph = build_agent(replace(TESTER, tools=(look,)), checkpointer=agent.saver)
    agent.graph.store = store = InMemoryStore()
    store.put(("words",), "otter", {"means": "an animal"})
    await agent.run(calls(call("look", word="otter", state={"forged": 1})), text("done"))
    assert await agent.observations() == ["an animal"]
    assert {"messages", "run"} <= injected["state"]
    assert injected["ids"] == {injected["calls"][0]["id"]}


@tool
def leave(text: str) -> str:
    """End the program."""
    sys.exit(text)


async def test_a_tool_that_would_end_the_program_is_an_observation(
    session: Session, subtests: pytest.Subtests
) -> None:
    configs: list[Any] = [None, {"callbacks": AsyncCallbackManager([])}]
    for ending, config in itertools.product((leave, Act(session=session, does=sys.exit)), configs):
        with subtests.test(ending=ending, config=config):
            observation = await observe_call(ending, {"text": "bye"}, config=config)
            assert observation.is_error
            assert "bye" in observation.text


def described(word: str, times: int = 1, tone: Literal["calm", "loud"] = "calm") -> str:
    """Say a word.

    Args:
        word: What to say.
        times: How often.
        tone: How.
    """
    return " ".join([word] * times) + ("!" if tone == "loud" else "")


def briefly(words: list[str], last: str | None = None) -> str:
    """Say words."""
    return " ".join(filter(None, [*words, last]))


async def later(word: str) -> str:
    """Say a word later."""
    return word


CALLED: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (described, {"word": "hey", "times": "2", "tone": "loud"}, "hey hey!"),
    (briefly, {"words": ["a", "b"]}, "a b"),
    (later, {"word": "中文"}, "中文"),
]


async def test_its_docstring_describes_it_and_it_is_called(subtests: pytest.Subtests) -> None:
    schema = convert_to_openai_tool(tool_from_function(described))["function"]
    assert (schema["name"], schema["description"]) == ("described", "Say a word.")
    takes = schema["parameters"]["properties"]
    assert takes["word"] == {"type": "string", "description": "What to say."}
    assert takes["times"] == {"type": "integer", "description": "How often.", "default": 1}
    assert takes["tone"]["enum"] == ["calm", "loud"]
    assert schema["parameters"]["required"] == ["word"]
    for function, args, message in CALLED:
        with subtests.test(function=function, args=args):
            output = await observe_call(tool_from_function(function), args)
            assert (output.text, output.is_error) == (message, False)
    output = await observe_call(tool_from_function(described), {"times": "many"})
    assert output.is_error
    assert "`word`: Field required" in output.text
    assert "`times`: Input should be" in output.text


_WRONG = {
    "def f(word: str): pass": "must have a docstring",
    "def f(word: 'Gone'):\n    'Say.'": "name 'Gone' is not defined",
    "class A: pass\ndef f(word: A):\n    'Say.'": "JSON schema",
    "f = lambda word: word": "`<lambda>`",
}


def test_a_function_that_cannot_be_a_tool_is_rejected_in_one_sentence(
    subtests: pytest.Subtests,
) -> None:
    for code, message in _WRONG.items():
        with subtests.test(code=code, message=message):
            module = types.ModuleType("wrong")
            exec(code, vars(module))
            with pytest.raises(SettingsError) as caught:
                tool_from_function(list(vars(module).values())[-1])
            assert message in str(caught.value)
            assert "\n" not in str(caught.value)
