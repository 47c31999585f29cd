"""Runs against strict servers: each must finish, whatever the model calls, shows or is told.

The profiles are rules that providers publish; their hosts are unknown to the program here, so that
it learns the rules from the refusals.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from manus.graph.inbox import send_message
from manus.graph.profiles import PROFILES as AGENTS
from manus.prompts import compaction
from manus.threads.sqlite import open_sqlite
from tests.flow.helpers import ScriptedFlow, makes, succeeds
from tests.helpers.agent import ScriptedAgent, assert_paired
from tests.helpers.tools import RED_DOT
from tests.server import ScriptedServer, call, calls, fail, mentions, text
from tests.server.strict import PROFILES

pytestmark = pytest.mark.asyncio(loop_scope="module")

APPEND = call("append", path="a", line="1")
NAMES = ("a.b", "x y", '"quoted"', "x" * 450, "", "函数", "bash()", "<|call|>", "-")
"""Names of calls that models have invented."""


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[ScriptedServer, ScriptedServer]]:
    """Provide a strict server, and a lenient one."""
    with ScriptedServer() as strict, ScriptedServer() as lenient:
        yield strict, lenient


QUICK = ("mistral", "gemini", "vllm", "ollama")
"""Profiles that together need every kind of change; the others run with `--exhaustive`."""


def _as_param(name: str) -> Any:
    return name if name in QUICK else pytest.param(name, marks=pytest.mark.exhaustive)


@pytest.fixture(params=map(_as_param, PROFILES))
async def strict(
    request: pytest.FixtureRequest,
    shared: tuple[ScriptedServer, ScriptedServer],
    own_workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[ScriptedAgent]:
    """Provide an agent on a server with the rules of each profile."""
    server, lenient = shared
    for each in shared:
        each.begin()
    server.strict = False  # the profile has its own rules
    server.profile = PROFILES[request.param]
    monkeypatch.setenv("MANUS_TEMPERATURE", "0.5")
    monkeypatch.setenv("MANUS_MAX_TOKENS", "10000")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1,localhost")
    async with open_sqlite(own_workspace.parent / "threads.sqlite") as saver:
        agent = ScriptedAgent(server, own_workspace, saver)
        yield agent
        await agent.graph.close_waiting()
    server.verify()
    lenient.verify()


Scenario = Callable[[ScriptedAgent], Awaitable[str | None]]


async def invented_names(agent: ScriptedAgent) -> str | None:
    """The model invents names; then the thread is continued."""
    replies = (call(name) for name in NAMES[:2])
    await agent.run(calls(*map(call, NAMES)), *replies, text("Done."))
    assert_paired(await agent.messages())
    return (await agent.run(APPEND, text("Again."))).output


async def an_image(agent: ScriptedAgent) -> str | None:
    return (await agent.run(call("picture"), call("poll"), text("Red."))).output


async def an_image_of_the_user(agent: ScriptedAgent) -> str | None:
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{RED_DOT}"}}
    content = [{"type": "text", "text": "What is this?"}, picture]
    inputs = {"messages": [{"role": "user", "content": content}]}
    return (await agent.invoke(inputs, APPEND, text("A dot."))).output


async def a_loop(agent: ScriptedAgent) -> str | None:
    reads = [call("read", path="none") for _ in range(4)]
    return (await agent.run(*reads, text("It is not there."))).output


async def a_message(agent: ScriptedAgent) -> str | None:
    """The user sends something during the run."""

    def send(_: Any) -> Any:
        send_message(agent.saver, "t", "Use tabs.")
        return APPEND

    return (await agent.run(send, APPEND, text("With tabs."))).output


async def a_resume(agent: ScriptedAgent) -> str | None:
    outcome = await agent.run(APPEND, fail(401))
    assert outcome.stop_reason == "error"
    return (await agent.run(call("x.y"), text("Resumed."), request="Go on.")).output


async def a_compaction(agent: ScriptedAgent) -> str | None:
    notes = agent.server.when(mentions(compaction.SUMMARIZER[:40]))
    notes.always(text("- A long file was read. [#2]"))
    reads = []
    for number in range(5):
        file = agent.workspace / f"{number}.txt"
        file.write_text(f"line {number} of a long text\n" * 120)
        reads.append(call("read", path=file.name))
    outcome = await agent.run(*reads, text("Read."), request="Read them.")
    assert (await agent.values())["compaction"]["evicted"]
    return outcome.output


async def a_flow(agent: ScriptedAgent) -> str | None:
    flow = ScriptedFlow(agent.server, agent.workspace, agent.saver)
    flow.plans(makes("Pack the bag", "Go"))
    flow.step("Pack", call("picture"), succeeds("Packed."))
    flow.step("Go", APPEND, succeeds("Gone."))
    flow.sums_up(text("You are there."))
    outcome = await flow.run(thread="flow")
    assert await flow.statuses("flow") == ["completed", "completed"]
    return outcome.output


async def a_fallback(agent: ScriptedAgent) -> str | None:
    """A lenient server begins with ids in its own format; the strict one continues."""
    assert agent.server.profile is not None
    first = ScriptedServer()
    with first:
        file = Path("manus.toml")
        file.write_text(f'fallback = [{{model = "strict", base_url = "{agent.server.base_url}"}}]')
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("MANUS_BASE_URL", first.base_url)
            long_id = call("picture", id="functions.picture:0/" + "x" * 60)
            first.script(calls(long_id, call("a.b")), fail(401))
            agent.server.script(APPEND, text("Taken over."))
            first.always(fail(401))
            outcome = await agent.run(thread="fallback", base_url=None)
        file.unlink()
    return outcome.output


async def a_profile(agent: ScriptedAgent) -> str | None:
    """Each profile of agents, with its own tools."""
    for name in AGENTS:
        own = ScriptedAgent(agent.server, agent.workspace, agent.saver, AGENTS[name])
        end = call("terminate", status="success", answer="The end.")
        outcome = await own.run(call("my.tool", x=1), end, thread=name, approve="yolo")
        assert outcome.output == "The end."
        await own.graph.close_waiting()
    return outcome.output


SCENARIOS: dict[Scenario, str] = {
    invented_names: "Again.",
    an_image: "Red.",
    an_image_of_the_user: "A dot.",
    a_loop: "It is not there.",
    a_message: "With tabs.",
    a_resume: "Resumed.",
    a_compaction: "Read.",
    a_flow: "You are there.",
    a_fallback: "Taken over.",
    a_profile: "The end.",
}


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
async def test_a_run_finishes(
    strict: ScriptedAgent, scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    if scenario is a_compaction:
        monkeypatch.setenv("MANUS_CONTEXT_WINDOW", "4000")
        monkeypatch.setenv("MANUS_MAX_TOKENS", "500")
    assert await scenario(strict) == SCENARIOS[scenario]
