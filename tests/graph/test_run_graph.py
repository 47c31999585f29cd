"""Beginning and ending of runs: what is opened is closed, threads are apart, one run at a time."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, SystemMessage

from manus.graph import build_agent
from manus.graph.given import to_context, to_input
from manus.state.errors import UsageError
from manus.tools.result import Observation
from tests.helpers.agent import TESTER, ScriptedAgent, assert_paired, thread_config
from tests.helpers.tools import Append, Shelf
from tests.server import Request, call, calls, fail, hang, mentions, text


class Lingers(Append):
    """Works for ever, and takes its time to end when it is cancelled: until there is `release`."""

    async def observe(self, path: str, line: str, **_: Any) -> Observation:
        root = self.session.workspace.root
        try:
            await super().observe(path=path, line=line)
            await asyncio.Event().wait()
        finally:
            (root / "lingers").touch()
            await there(root / "release")
        return Observation("never")


async def there(file: Path) -> None:
    async with asyncio.timeout(60):
        while not file.exists():
            await asyncio.sleep(0.01)


class TestInput:
    @pytest.mark.parametrize(
        "given",
        [{}, {"request": ""}, {"request": " \n"}, {"messages": []}, {"request": 7}]
        + [{"messages": [("user", said)]} for said in ("", " ")]
        + [{"messages": [("assistant", "Hello.")]}, {"messages": "  "}],
    )
    def test_no_request_is_said_in_a_sentence(self, given: Any) -> None:
        with pytest.raises(UsageError, match="There is no request"):
            to_input(given)

    @pytest.mark.parametrize(
        "messages",
        [
            "Do it.",
            ("user", "Do it."),
            [("user", "Do it.")],
            [{"role": "user", "content": "Do it."}],
            [SystemMessage("Be brief."), HumanMessage("Do it.")],
            HumanMessage("Do it."),
            [HumanMessage([{"type": "image_url", "image_url": {"url": "data:,"}}])],
        ],
    )
    def test_messages_in_any_form_are_one(self, messages: Any) -> None:
        assert to_input({"messages": messages})["messages"] == messages

    async def test_an_empty_request_leaves_nothing_behind(self, agent: ScriptedAgent) -> None:
        with pytest.raises(UsageError):
            await agent.run(request="  ")
        assert await agent.values() == {}

    async def test_messages_with_a_request_that_has_an_image(self, agent: ScriptedAgent) -> None:
        picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
        message = HumanMessage([{"type": "text", "text": "What is this?"}, picture])
        outcome = await agent.invoke({"messages": [message]}, text("A picture."))
        assert outcome.output == "A picture."
        assert agent.server.requests[0].messages[1]["content"][1] == picture


class TestContext:
    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"max_steps": 0}, "`max_steps`"),
            ({"max_stepz": 3}, "`max_stepz`"),
            ({"budget": {"tokens": -1}}, "`budget.tokens`"),
            ({"tool_choice": "perhaps"}, "`tool_choice`"),
        ],
    )
    def test_what_does_not_fit_is_said_in_a_sentence(self, given: Any, words: str) -> None:
        with pytest.raises(UsageError, match=words):
            to_context(given)

    async def test_a_checkpointer_needs_a_thread(self, agent: ScriptedAgent) -> None:
        with pytest.raises(UsageError, match="thread_id"):
            await agent.graph.ainvoke({"request": "Hi."}, context=agent.context())

    async def test_without_any_the_settings_count(
        self, agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("MANUS_MODEL", "scripted")
        monkeypatch.setenv("MANUS_BASE_URL", agent.server.base_url)
        monkeypatch.setenv("MANUS_WORKSPACE", str(tmp_path / "w"))
        monkeypatch.setenv("MANUS_MAX_STEPS", "2")
        agent.server.script(call("append", path="a", line="1"), call("poll"))
        found = await agent.graph.ainvoke({"request": "Hi."}, thread_config("t"))
        assert found["stop_reason"] == "max_steps"
        assert (tmp_path / "w" / "a").read_text() == "1\n"


class TestWithoutACheckpointer:
    async def test_a_question_leaves_nothing_open(self, agent: ScriptedAgent) -> None:
        agent.server.script(call("keep", path="", line="1"), call("ask_human", inquire="Why?"))
        found = await build_agent(TESTER).ainvoke({"request": "Do it."}, context=agent.context())
        assert (found["stop_reason"], found["output"]) == ("interrupted", "Why?")
        assert Shelf.open == 0


class TestClosing:
    KEEP = call("keep", path="", line="1")

    async def test_live_things_are_closed_at_the_end(self, agent: ScriptedAgent) -> None:
        opened: list[int] = []

        def look(_: Request) -> Any:
            opened.append(Shelf.open)
            return text("Done.")

        await agent.run(self.KEEP, look)
        assert (opened, Shelf.open) == ([1], 0)
        outcome = await agent.run(self.KEEP, fail(401), request="And after an error?")
        assert (outcome.stop_reason, Shelf.open) == ("error", 0)

    async def test_and_when_the_run_is_cancelled(self, agent: ScriptedAgent) -> None:
        agent.server.script(self.KEEP, hang())
        run = asyncio.create_task(agent.run())
        await agent.server.arrived(2)
        assert Shelf.open == 1
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert Shelf.open == 0

    async def test_and_when_the_reader_goes_away(self, agent: ScriptedAgent) -> None:
        agent.server.script(self.KEEP, text("Done.")).allow_unused()
        stream: Any = agent.graph.astream(
            {"request": "Do it."},
            thread_config("t"),
            context=agent.context(),
            stream_mode="updates",
        )
        async for update in stream:
            if "act" in update:
                break
        assert Shelf.open == 1
        await stream.aclose()
        assert Shelf.open == 0

    async def test_the_thread_is_free_after_a_cancellation(self, agent: ScriptedAgent) -> None:
        agent.server.script(call("hold", path="a", line="1"))
        run = asyncio.create_task(agent.run())
        while not agent.lines("a"):
            await asyncio.sleep(0)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        outcome = await agent.invoke(None, text("Gone on."))
        assert outcome.output == "Gone on."
        [seen] = await agent.observations()
        assert "not executed again" in seen
        assert agent.lines("a") == ["1"]
        assert_paired(await agent.messages())


class TestThreads:
    async def test_two_at_once_share_nothing(self, agent: ScriptedAgent) -> None:
        """Each waits for the other in the middle of its work."""
        both = asyncio.Barrier(2)
        loop = asyncio.get_running_loop()

        def meet(reply: Any) -> Any:
            def replying(_: Request) -> Any:
                asyncio.run_coroutine_threadsafe(both.wait(), loop).result()
                return reply

            return replying

        for name in ("left", "right"):
            agent.server.when(
                mentions(f"You are {name}."),
                calls(call("keep", path="", line=name), call("poll")),
                meet(call("keep", path="", line=name)),
                meet(text(f"I am {name}.")),
            )
        outcomes = await asyncio.gather(
            *(agent.run(request=f"You are {name}.", thread=name) for name in ("left", "right"))
        )
        for name, outcome in zip(("left", "right"), outcomes, strict=True):
            assert outcome.output == f"I am {name}."
            seen = await agent.observations(name)
            assert (seen[0], seen[2]) == (name, f"{name} {name}")
            assert outcome.usage["model_calls"] == 3
            assert outcome.usage["tool_calls"] == 3
        assert Shelf.open == 0

    async def test_one_that_is_being_cancelled_is_waited_for(self, agent: ScriptedAgent) -> None:
        """A server begins the next run while the one before still ends what it had started."""
        slow = replace(TESTER, tools=(Lingers,))
        agent = ScriptedAgent(agent.server, agent.workspace, agent.saver, slow)
        agent.server.script(call("append", path="a", line="1"))
        first = asyncio.create_task(agent.run())
        await there(agent.workspace / "a")
        first.cancel()
        second = asyncio.create_task(agent.run(text("Now."), request="Instead."))
        await there(agent.workspace / "lingers")
        assert not second.done()
        (agent.workspace / "release").touch()
        assert (await second).output == "Now."
        assert first.cancelled()

    async def test_a_run_that_could_not_begin_does_not_hold_the_thread(
        self, agent: ScriptedAgent, tmp_path: Path
    ) -> None:
        (tmp_path / "file").write_text("")
        for _ in range(2):
            with pytest.raises(UsageError, match="cannot be written to"):
                await agent.run(workspace=str(tmp_path / "file"))


class TestProfiles:
    async def test_its_own_special_tools(self, agent: ScriptedAgent) -> None:
        own = replace(TESTER, special_tools=("terminate", "Poll"))
        other = ScriptedAgent(agent.server, agent.workspace, agent.saver, own)
        outcome = await other.run(calls(call("poll"), call("append", path="a", line="1")))
        assert (outcome.stop_reason, outcome.success) == ("terminated", True)
        assert agent.lines("a") == []
        assert (await other.observations())[-1].startswith("Not executed")
