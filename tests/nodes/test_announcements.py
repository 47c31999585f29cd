"""A reply without a call that announces work: told apart from an answer, and sent back once."""

from dataclasses import replace
from typing import Any

import pytest

from manus.nodes.exchange.announcements import announces_work
from manus.prompts import agent as prompts
from manus.state.plan import Plan
from tests.helpers.agent import DELEGATOR, TESTER, ScriptedAgent
from tests.server import call, text

ANNOUNCED = [
    "I will now look at the file and then change f7.",
    "Let me write it:",
    "Let me write it.",
    "I'll start by reading the configuration.",
    "I’ll check the logs next.",
    "The test fails because of a missing import. Let me fix that.",
    "Now I'll run the tests to make sure that everything works.",
    "First, I need to look at the directory structure.",
    "Next, I will update `app.py`:",
    "I'm going to search for the definition of `parse`.",
    "To find the cause, I will inspect the traceback first.",
    "Okay, the file is there.\n\nNow let me open it...",
    "Sure! I'll create the calculator now.",
    "Here is what I found so far. I am now going to edit the second file.",
    "Let's run the script and see what happens.",
    "**Next step:** I'll install the dependencies.",
    "Here's the code:",
    "我现在将查看文件，然后修改 f7。",
    "接下来我将运行测试。",
    "好的，我先看一下目录结构。",
    "让我检查一下这个文件：",
    "現在我來修改這個函數。",
    "これからファイルを確認します。",
    "まず、ディレクトリの構成を調べます。",
    "次にテストを実行します。",
    "이제 파일을 확인하겠습니다.",
    "먼저 설정을 살펴보겠습니다.",
    "Ich werde jetzt die Datei ansehen und dann f7 ändern.",
    "Als Nächstes führe ich die Tests aus.",
    "Ich schaue mir zuerst die Datei an.",
    "Je vais maintenant lire le fichier.",
    "Ensuite, je vais corriger la fonction.",
    "Laissez-moi vérifier le fichier.",
    "Ahora voy a leer el archivo.",
    "Déjame revisar el archivo:",
    "Vou agora verificar o arquivo.",
    "Agora vou executar os testes.",
    "Ora leggo il file.",
    "Adesso controllo il file.",
    "Сейчас я посмотрю файл.",
    "Теперь я исправлю функцию.",
]
ANSWERS = [
    "Hello! How can I help you today?",
    "Hi! I'm Manus. Let me know what you want me to do.",
    "Hello! I'd be happy to help. What should I look at?",
    "The answer is 42.",
    "I changed f7 and the tests pass.",
    "I have now looked at the file: f7 was wrong, and I changed it.",
    "Done. The server will now restart by itself whenever a file changes.",
    "I will not change the file, since you only asked a question.",
    "I'll be here if you need anything else.",
    "I will remember that you like short answers.",
    "If you want, I'll add the tests as well.",
    "If you want, I will now add tests for the other functions, too.",
    "Let me know if you want me to run the tests.",
    "Would you like me to fix it? I can also run the tests.",
    "Shall I go on? I would then write the tests:\n- one\n- two",
    "Once you have set the key, I will run it again.",
    "To fix it, we need to add an index to the table.",
    "You should update the driver; then we can look at the rest.",
    "次に、ボタンを押します。",
    "See you! I'll see you tomorrow.",
    "Run it like this:\n```\nLet me look at it:\n```",
    "Please tell me the password; then I'll log in.",
    "I will need your password before I can log in.",
    "The next step is up to you: run `make test`.",
    "You can run it with:\n\n```\npython app.py\n```",
    "To run it:\n\n```\nmake run\n```\nI created three files.",
    "My plan for the week:\n1. I will write the tests.\n2. I will run them.",
    "She wrote: “I will look at it tomorrow.”",
    "> I will now look at the file.",
    "The log ends with:\n\n    I will now look at the file.",
    "你好！请问有什么可以帮您？",
    "我已经修改了 f7，测试全部通过。",
    "如果需要，我可以继续修改其他文件。",
    "如果您愿意，接下来我将运行测试。",
    "我将一直在这里。",
    "ファイルを確認しました。問題ありません。",
    "ご質問があればお知らせください。",
    "파일을 수정했습니다.",
    "Ich habe die Datei geändert.",
    "Ich werde das nicht tun, weil es gefährlich ist.",
    "J'ai corrigé la fonction.",
    "He corregido la función.",
    "Я исправил функцию.",
    "",
    ":",
]


@pytest.mark.parametrize("reply", ANNOUNCED)
def test_an_announcement_is_recognized(reply: str) -> None:
    assert announces_work(reply)


@pytest.mark.parametrize("reply", ANSWERS)
def test_an_answer_is_not_an_announcement(reply: str) -> None:
    assert not announces_work(reply)


def is_sent_back(request: Any) -> bool:
    return prompts.SENT_BACK[:40] in str(request.last["content"])


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


ANNOUNCES = "I will now look at the file."


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


async def test_a_reply_right_after_a_loop_hint_is_sent_back(agent: ScriptedAgent) -> None:
    same = [call("read", path="missing")] * 3
    outcome = await agent.run(*same, text("The file is not there."), text("It is missing."))
    hinted, after = agent.server.requests[3:]
    assert "You are stuck in a loop" in str(hinted.last["content"])
    assert is_sent_back(after)
    assert outcome.output == "It is missing."


PLANNER = replace(TESTER, tools=("planning", *TESTER.tools), extras={"keeps_plan": True})
PLAN = call("planning", command="create", plan_id="p", title="Trip", steps=["Pack", "Go"])


def mark(step: int) -> Any:
    return call(
        "planning", command="mark_step", plan_id="p", step_index=step, step_status="completed"
    )


async def test_an_open_plan_sends_a_reply_back(agent: ScriptedAgent) -> None:
    planner = ScriptedAgent(agent.server, agent.workspace, agent.saver, PLANNER)
    outcome = await planner.run(PLAN, mark(0), text("I packed."), mark(1), text("All done."))
    assert (outcome.stop_reason, outcome.output) == ("answered", "All done.")
    assert [is_sent_back(r) for r in agent.server.requests] == [*[False] * 3, True, False]
    plans: dict[str, Plan] = (await planner.values())["plans"]
    assert plans["p"]["steps"][1]["status"] == "completed"


async def test_a_delegated_task_is_not_a_conversation(agent: ScriptedAgent) -> None:
    """A task for another agent, delegated in a conversation: nobody reads its announcements."""
    delegator = ScriptedAgent(agent.server, agent.workspace, agent.saver, DELEGATOR)
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
