"""The supersteps of an agent, folded into its runs: steps, calls, what came of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.types import Overwrite

from manus.run_report.facts import AgentStep, Call, Conversation, Notice, Picture
from manus.run_report.notices import (
    compaction_notice,
    loop_notice,
    question_notices,
)
from manus.run_report.pauses import find_pauses
from manus.run_report.trail import INTERRUPT, RESUME, Superstep
from manus.run_report.usage import of_message, points_of
from manus.state.messages import calls_of, text_of
from manus.state.plan_changes import fold_plans


def conversations(supersteps: Sequence[Superstep]) -> list[Conversation]:
    """The runs of an agent in one checkpoint namespace, in order."""
    fold = _Fold()
    for superstep in supersteps:
        fold.take(superstep)
    for talk, own in zip(fold.talks, fold.supersteps, strict=True):
        talk.points = points_of(own)
        talk.pauses = find_pauses(own)
        _tell_of_pauses(talk)
    return fold.talks


class _Fold:
    """Takes one superstep after the other."""

    def __init__(self) -> None:
        self.talks: list[Conversation] = []
        self.supersteps: list[list[Superstep]] = []
        self._calls: dict[str, Call] = {}
        self._seen: set[str] = set()
        self._plans: dict[str, Any] = {}
        self._loose: list[Notice] = []
        self._said: list[HumanMessage] = []

    def take(self, superstep: Superstep) -> None:
        messages = messages_of(superstep)
        if self._begins(superstep, messages):
            self._begin(superstep, messages)
        if not self.talks:
            return
        talk = self.talks[-1]
        self.supersteps[-1].append(superstep)
        if superstep.is_edit:
            self._notice(talk, Notice("edited", "The state was edited", at=superstep.at))
        self._compaction(superstep)
        for message in messages:
            self._message(superstep, talk, message)
            self._said += [message] if isinstance(message, HumanMessage) else []
        self._channels(superstep, talk)
        talk.ended = superstep.end

    def _begins(self, superstep: Superstep, messages: Sequence[BaseMessage]) -> bool:
        if superstep.is_input:
            return any(isinstance(m, HumanMessage) for m in messages) or not self.talks
        run = superstep.last("run")
        known = self.talks[-1].run_id if self.talks else ""
        return run is not None and (not self.talks or bool(known and run["id"] != known))

    def _begin(self, superstep: Superstep, messages: Sequence[BaseMessage]) -> None:
        asked = [m for m in messages if isinstance(m, HumanMessage)]
        asked = asked or self._said[-1:]  # asked by an edit of the state
        words = "\n\n".join(text_of(m) for m in asked) or str(superstep.metadata.get("request", ""))
        talk = Conversation(
            request=words,
            began=superstep.at,
            pictures=[p for m in asked for p in pictures_of(m)],
            workspace=str(superstep.metadata.get("workspace") or ""),
            profile=str(superstep.metadata.get("profile") or ""),
        )
        self.talks.append(talk)
        self.supersteps.append([])

    def _message(self, superstep: Superstep, talk: Conversation, message: BaseMessage) -> None:
        if isinstance(message, ToolMessage):
            self._observe(message)
        elif message.id in self._seen:
            return
        elif isinstance(message, AIMessage):
            self._think(superstep, talk, message)
        elif isinstance(message, HumanMessage) and not superstep.is_input:
            self._notice(talk, Notice("answer", "A person said", text_of(message), superstep.end))
        if message.id is not None:
            self._seen.add(message.id)

    def _think(self, superstep: Superstep, talk: Conversation, message: AIMessage) -> None:
        calls = [Call(str(c["id"]), str(c["name"]), c["args"]) for c in calls_of(message)]
        self._calls.update((call.id, call) for call in calls)
        step = AgentStep(
            number=len(talk.steps) + 1,
            began=superstep.at,
            thought_at=superstep.end,
            ended=superstep.end,
            thought=text_of(message).strip(),
            calls=calls,
            tokens=of_message(message),
            model=str(message.response_metadata.get("model_name") or ""),
            before=self._loose,
        )
        self._loose = []
        talk.steps.append(step)

    def _observe(self, message: ToolMessage) -> None:
        call = self._calls.get(str(message.tool_call_id))
        if call is None or call.observation is not None:
            return
        call.observation = text_of(message)
        call.is_error = message.status == "error"
        call.pictures = pictures_of(message)

    def _compaction(self, superstep: Superstep) -> None:
        made = superstep.last("compaction")
        if made is None:
            return
        notes = [m for m in messages_of(superstep) if isinstance(m, SystemMessage)]
        before = superstep.values.get("compaction")
        self._loose.append(compaction_notice(made, before, notes, superstep.end))

    def _channels(self, superstep: Superstep, talk: Conversation) -> None:
        if (run := superstep.last("run")) is not None:
            talk.run_id = run["id"]
            talk.profile = run.get("profile") or talk.profile
            talk.workspace = run.get("workspace") or talk.workspace
            talk.max_steps = run.get("max_steps", talk.max_steps)
        if superstep.written("run") and talk.steps and "closing" in (run or {}):
            words = str(run["closing"])
            self._notice(talk, Notice("budget", "The budget is nearly used up", words))
        if (found := superstep.last("loop")) is not None:
            self._notice(talk, loop_notice(found, superstep.end))
        for notice in question_notices(superstep.written(INTERRUPT), superstep.at):
            self._notice(talk, notice)
        if superstep.written(RESUME) and not superstep.written(INTERRUPT):
            self._notice(talk, Notice("resumed", "Gone on", at=superstep.at))
        self._keep_plans(superstep, talk)
        if talk.steps and not superstep.is_input:
            talk.steps[-1].ended = max(superstep.end, talk.steps[-1].thought_at)
        _end(superstep, talk)

    def _keep_plans(self, superstep: Superstep, talk: Conversation) -> None:
        if writes := superstep.written("plans"):
            self._plans = fold_plans(self._plans, [plain(w) for w in writes])
        active = superstep.last("active_plan") or superstep.values.get("active_plan")
        if self._plans and superstep.written("plans"):
            chosen = self._plans.get(str(active)) or list(self._plans.values())[-1]
            talk.plan = cast(Any, chosen)

    def _notice(self, talk: Conversation, notice: Notice) -> None:
        (talk.steps[-1].after if talk.steps else self._loose).append(notice)


def _end(superstep: Superstep, talk: Conversation) -> None:
    if (usage := superstep.last("usage")) is not None:
        talk.usage = plain(usage)
    if (status := superstep.last("status")) is not None:
        talk.status = status
    if superstep.written("stop_reason"):
        talk.stop_reason = superstep.last("stop_reason")
        talk.success = superstep.last("success")
        talk.output = str(superstep.last("output") or "")


def _tell_of_pauses(talk: Conversation) -> None:
    """Each pause at the step in which it fell."""
    for begin, end in talk.pauses:
        notice = Notice("resumed", "Stopped here, and resumed", at=end)
        notice.text = pause_words((end - begin).total_seconds())
        step = next((s for s in reversed(talk.steps) if s.began <= begin), None)
        if step is None:
            talk.loose.insert(0, notice)
        elif step.ended is not None and begin >= step.ended:
            step.after.append(notice)
        else:
            step.after.append(notice)
            step.after.sort(key=lambda told: told.at or end)


def pause_words(seconds: float) -> str:
    """How long nothing was done."""
    from manus.run_report.words import span

    return f"Nothing was done for {span(seconds)}." if seconds >= 1 else ""


def messages_of(superstep: Superstep) -> list[BaseMessage]:
    """The messages that a superstep wrote, whatever form the write has."""
    return [m for write in superstep.written("messages") for m in _messages_in(plain(write))]


def _messages_in(write: Any) -> Iterable[BaseMessage]:
    for one in write if isinstance(write, list) else [write]:
        if isinstance(one, BaseMessage):
            yield one


def plain(write: Any) -> Any:
    """A write without the mark that it replaces what was there."""
    return write.value if isinstance(write, Overwrite) else write


def pictures_of(message: BaseMessage) -> list[Picture]:
    """The images in a message that are part of it; those at an address are not fetched."""
    found = []
    content = message.content if isinstance(message.content, list) else []
    for block in content:
        if not isinstance(block, dict) or block.get("type") != "image_url":
            continue
        given = block.get("image_url")
        url = given.get("url", "") if isinstance(given, dict) else str(given)
        head, _, data = str(url).partition(";base64,")
        if head.startswith("data:image/") and data:
            found.append(Picture(head.removeprefix("data:"), data))
    return found
