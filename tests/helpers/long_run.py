"""A long run for tests and measurements: places to look at, with facts and rules to retain.

The model is scripted. When the history grows too long and notes are requested, it replies as a
model might: with the newest facts under a line of prose.
"""

import itertools
import os
import re
from typing import Any, NamedTuple

from manus.config.profile import Profile
from manus.graph.outcome import Outcome
from manus.prompts import compaction as prompts
from manus.state.messages import get_text
from manus.threads.archive import Archive
from manus.workspace.workspace import Workspace
from tests.helpers.agent import ScriptedAgent
from tests.server import Message, Request, call, calls, mentions, text, tokens

WINDOW = 12_000
EVERY = 8
INSTRUCTIONS = [
    f"Standing rule {letter}: never touch the branch release-{letter}, whatever happens."
    for letter in "abcdefghij"
]
REQUEST = "Look at all places.\n" + "\n".join(INSTRUCTIONS)
SUMMARIZER = prompts.SUMMARIZER[:40]


def fact(place: int) -> str:
    return f"The code of locker K{place} is {90_000 + 37 * place}."


def look(place: int) -> str:
    """Look at a place: half a kilobyte, which includes a fact at some of them."""
    planted = fact(place) if place % EVERY == 0 else "Nothing of note."
    return f"Place {place}. " + "A wall, a door, a window. " * 20 + planted


LOOKER = Profile(
    name="looker",
    description="",
    tools=(look, "terminate"),
    system_prompt="You work in $workspace.",
    next_step_prompt="Go on.",
)


def write_notes(request: Request) -> Message:
    """Write notes as a model might: prose, and the newest facts, each with its message."""
    question = str(request.last["content"])
    before = [line for line in question.splitlines() if line.startswith("- The code")]
    pattern = r"\[#(\d+)\] look: [^\[]*?(The code of locker K\d+ is \d+\.)"
    new = [f"- {match} [#{number}]" for number, match in re.findall(pattern, question, re.S)]
    lines = ["Here are the notes:", "- Most places have nothing of note.", *(before + new)[-12:]]
    return text("\n".join(lines), usage=tokens(10, 10))


def looker_on(agent: ScriptedAgent) -> ScriptedAgent:
    """Return an agent that looks at places, with the model that takes its notes."""
    agent.server.when(mentions(SUMMARIZER)).always(write_notes)
    return ScriptedAgent(agent.server, agent.workspace, agent.saver, LOOKER)


def look_at(agent: ScriptedAgent, places: int) -> None:
    """Let the model look at one place after the other, then end."""
    place = iter(range(1, places + 1))

    def next_look(_: Request) -> Message:
        number = next(place, None)
        return text("All seen.") if number is None else calls(call("look", place=number))

    agent.server.always(next_look)


def agent_requests(agent: ScriptedAgent) -> list[Request]:
    """Return the agent's own requests, without those for its notes."""
    return [
        request
        for request in agent.server.requests
        if str(request.messages[0]["content"]).startswith("You work in")
    ]


class Retention(NamedTuple):
    """What is still known at the end of a long run.

    `rules` are the standing instructions in the last request, `known` those of the `facts` that are
    in the history or are found by a search of the archive.
    """

    compactions: int
    rules: int
    facts: int
    known: int


async def measure_retention(agent: ScriptedAgent, steps: int) -> Retention:
    values = await agent.values()
    compaction, history = values["compaction"], values["messages"]
    [path] = (Workspace(agent.workspace).records / "archive").glob("*.sqlite")
    archive = Archive(path)
    facts = {place: fact(place).split()[-1] for place in range(EVERY, steps + 1, EVERY)}
    present = "\n".join(map(get_text, history))
    recalled = [
        place
        for place, code in facts.items()
        if code in present
        or any(code in message.text for message in archive.search(f"code of locker K{place}"))
    ]
    last = agent_requests(agent)[-1].text
    return Retention(
        compactions=compaction["count"],
        rules=sum(rule in last for rule in INSTRUCTIONS),
        facts=len(facts),
        known=len(recalled),
    )


def prefix_share(agent: ScriptedAgent) -> float:
    """Return the share of all sent bytes that repeat the start of the previous request."""
    requests = [request.raw for request in agent_requests(agent)]
    alike = sum(
        len(os.path.commonprefix(pair))  # noqa: RUF071 - these are no paths
        for pair in itertools.pairwise(requests)
    )
    return alike / sum(map(len, requests))


async def bytes_per_superstep(agent: ScriptedAgent) -> list[int]:
    """Return the bytes that each superstep wrote to the database, in order."""
    size_query = (
        "SELECT id, sum(bytes) FROM ("
        " SELECT checkpoint_id AS id, length(checkpoint) + length(metadata) AS bytes"
        " FROM checkpoints UNION ALL"
        " SELECT checkpoint_id AS id, length(value) AS bytes FROM writes"
        ") GROUP BY id ORDER BY id"
    )
    saver: Any = agent.saver
    return [int(row[1]) for row in saver.conn.execute(size_query)]


async def long_run(agent: ScriptedAgent, steps: int) -> Outcome:
    look_at(agent, steps)
    return await agent.run(request=REQUEST, max_steps=2 * steps)
