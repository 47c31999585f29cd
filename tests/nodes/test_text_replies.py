"""A reply without a call: sent back once after tool calls, or if it announces work."""

from dataclasses import replace
from typing import Any

import pytest

from manus.config.context import Context
from manus.nodes.stop_conditions import announces_work
from tests.helpers.agent import DELEGATOR, TESTER, ScriptedAgent
from tests.helpers.tools import Poll
from tests.server import call, text

ANNOUNCED = [
    "I will now look at the file and then change f7.",
    "Let me write it:",
    "I’ll check the logs next.",
    "The test fails because of a missing import. Let me fix that.",
    "Now I'll run the tests to make sure that everything works.",
    "Next, I will update `app.py`:",
    "Okay, the file is there.\n\nNow let me open it...",
    "Sure! I'll create the calculator now.",
    "Let's run the script and see what happens.",
    "Here's the code:",
    "我将查看文件，然后修改 f7。",
    "接下来我将运行测试。",
    "好的，我先看一下目录结构。",
    "让我检查一下这个文件：",
]
ANSWERS = [
    "Hello! How can I help you today?",
    "Hi! I'm Manus. Let me know what you want me to do.",
    "Hello! I'd be happy to help. What should I look at?",
    "I changed f7 and the tests pass.",
    "I have now looked at the file: f7 was wrong, and I changed it.",
    "I'll be here if you need anything else.",
    "Let me know if you want me to run the tests.",
    "I will need your password before I can log in.",
    "Run it like this:\n```\nLet me look at it:\n```",
    "你好！请问有什么可以帮您？",
    "我已经修改了 f7，测试全部通过。",
    "Ich werde jetzt die Datei ansehen.",
    "",
]


@pytest.mark.parametrize("reply", ANNOUNCED)
def test_an_announcement_is_recognized(reply: str) -> None:
    assert announces_work(reply)


@pytest.mark.parametrize("reply", ANSWERS)
def test_an_answer_is_not_an_announcement(reply: str) -> None:
    assert not announces_work(reply)


ANNOUNCES = "I will now look at the file."
POLL = call("poll")


def is_sent_back(request: Any) -> bool:
    return bool(request.sent_back)


class Task(ScriptedAgent):
    """An agent outside of a conversation, whose model reacts as scripted to what is sent back."""

    def context(self, **settings: Any) -> Context:
        self.server.repeats = False
        return super().context(**{"conversation": False, **settings})


@pytest.fixture
def agent(agent: ScriptedAgent) -> ScriptedAgent:
    return Task(agent.server, agent.workspace, agent.saver)


async def test_an_announcement_is_sent_back_once(agent: ScriptedAgent) -> None:
    terminate = call("terminate", status="success", answer="f7 is right now.")
    outcome = await agent.run(
        text("I will now look at the file."), call("append", path="a", line="1"), terminate
    )
    assert (outcome.stop_reason, outcome.success) == ("terminated", True)
    assert outcome.output == "f7 is right now."
    assert agent.lines("a") == ["1"]
    assert [is_sent_back(r) for r in agent.server.requests] == [False, True, False]
    content = str(agent.server.requests[1].last["content"])
    assert "`terminate`" in content


async def test_a_second_one_is_the_answer(agent: ScriptedAgent) -> None:
    outcome = await agent.run(text("Let me write it:"), call("poll"), text("Let me look at it:"))
    assert (outcome.stop_reason, outcome.output) == ("answered", "Let me look at it:")
    assert len(agent.server.requests) == 3


async def test_the_reply_after_it_is_the_answer(agent: ScriptedAgent) -> None:
    outcome = await agent.run(text("Let me write it:"), text("It is written."))
    assert (outcome.stop_reason, outcome.output) == ("answered", "It is written.")


async def test_a_greeting_costs_one_call(agent: ScriptedAgent) -> None:
    outcome = await agent.run(text("Hello! How can I help you?"), request="Hi!")
    assert (outcome.stop_reason, outcome.usage["model_calls"]) == ("answered", 1)


async def test_nothing_is_sent_back_in_a_conversation(agent: ScriptedAgent) -> None:
    outcome = await agent.run(text(ANNOUNCES), conversation=True)
    assert (outcome.stop_reason, outcome.output) == ("answered", ANNOUNCES)
    outcome = await agent.run(text(ANNOUNCES), request="And then?")
    assert (outcome.stop_reason, len(agent.server.requests)) == ("answered", 2)


async def test_a_run_after_a_finished_task_is_not_a_conversation(agent: ScriptedAgent) -> None:
    await agent.run(call("terminate", status="success", answer="Fixed."))
    outcome = await agent.run(text(ANNOUNCES), text("It is fine."), request="Check it again.")
    assert is_sent_back(agent.server.requests[-1])
    assert outcome.output == "It is fine."


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"max_steps": 1}, id="last step"),
        pytest.param({"tool_choice": "none"}, id="no tools"),
        pytest.param({"budget": {"model_calls": 1}}, id="no budget left"),
    ],
)
async def test_nothing_is_sent_back_where_nothing_could_follow(
    agent: ScriptedAgent, options: dict[str, Any]
) -> None:
    outcome = await agent.run(text(ANNOUNCES), **options)
    assert (outcome.stop_reason, outcome.output) == ("answered", ANNOUNCES)


async def test_a_text_after_calls_is_sent_back_once(agent: ScriptedAgent) -> None:
    outcome = await agent.run(POLL, text("It is 3."), text("It is 3, all told."))
    assert (outcome.stop_reason, outcome.output) == ("answered", "It is 3, all told.")
    assert [is_sent_back(r) for r in agent.server.requests] == [False, False, True]
    assert "`terminate`" in str(agent.server.requests[-1].last["content"])


@pytest.mark.parametrize("reply", ["It is 3.", ANNOUNCES])
async def test_without_terminate_only_an_announcement_is_sent_back(
    agent: ScriptedAgent, reply: str
) -> None:
    profile = replace(TESTER, tools=(Poll,))
    other = Task(agent.server, agent.workspace, agent.saver, profile)
    replies = [text(reply), *([text("It is 3.")] if reply == ANNOUNCES else [])]
    outcome = await other.run(POLL, *replies)
    assert (outcome.stop_reason, outcome.output) == ("answered", "It is 3.")


async def test_a_delegated_task_is_not_a_conversation(agent: ScriptedAgent) -> None:
    """A task for another agent, delegated in a conversation: nobody reads its announcements."""
    delegator = Task(agent.server, agent.workspace, agent.saver, DELEGATOR)
    task = call("delegate", task="Look.", profile="swe")
    agent.server.when(lambda r: str(r.messages[1]["content"]) == "Look.").script(
        text(ANNOUNCES), text("Seen.")
    )
    outcome = await delegator.run(task, text("It was seen."), conversation=True)
    assert outcome.output == "It was seen."
    assert sum(map(is_sent_back, agent.server.requests)) == 1


async def test_a_reply_after_being_sent_back_is_stored_as_it_was(agent: ScriptedAgent) -> None:
    await agent.run(text("Let me write it:"), text("It is written."))
    assert [m.text for m in await agent.messages()] == [
        *("Do it.", "Let me write it:", "It is written.")
    ]
