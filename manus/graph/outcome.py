"""What came of a run, read from a snapshot of its thread."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from langgraph.types import Interrupt, StateSnapshot

from manus.state.agent import Refusal, RunStatus, StopReason
from manus.state.plan import refusals_of
from manus.state.usage import Usage, no_usage

_USAGE = ("input_tokens", "output_tokens", "model_calls", "tool_calls", "seconds")
_WHERE_KNOWN = ("cached_tokens", "cache_write_tokens", "cost", "estimated", "roles")


@dataclass(frozen=True, slots=True)
class Outcome:
    """A run's end, or the question it waits with."""

    thread_id: str
    status: RunStatus
    stop_reason: StopReason | None
    success: bool
    output: str
    results: list[str]
    usage: Usage
    questions: tuple[Interrupt, ...] = ()
    plan: dict[str, Any] | None = None
    refused: tuple[Refusal, ...] = ()
    """What was refused in the run, by a person or by its mode of approval."""

    @property
    def waits_for_model(self) -> bool:
        """Whether it stopped since the model's server is away, and nobody is asked anything."""
        return bool(self.questions) and all(map(is_of_model, self.questions))

    @property
    def asks_person(self) -> bool:
        """Whether somebody's answer is waited for."""
        return bool(self.questions) and not self.waits_for_model

    @property
    def unasked(self) -> list[Refusal]:
        """What was refused since the run refuses whatever would be asked."""
        return [one for one in self.refused if one["by"] == "mode"]

    def as_json(self) -> dict[str, Any]:
        """The outcome as the command line prints it with `--json`."""
        usage: dict[str, Any] = {name: self.usage.get(name, 0) for name in _USAGE}
        usage["seconds"] = round(usage["seconds"], 3)
        for name in _WHERE_KNOWN:
            if self.usage.get(name):
                usage[name] = self.usage.get(name)
        shown: dict[str, Any] = {
            "thread_id": self.thread_id,
            "status": self.status,
            "stop_reason": self.stop_reason,
            "success": self.success,
            "output": self.output,
            "results": self.results,
            "usage": usage,
        }
        if self.unasked:
            listed = [{"call": one["call"], "reason": one["reason"]} for one in self.unasked]
            shown["refused"] = listed
        return shown if self.plan is None else {**shown, "plan": self.plan}


def outcome_of(snapshot: StateSnapshot) -> Outcome:
    """The outcome of the newest run of a thread.

    A run that waits for a person has the stop reason `interrupted` and its questions as output;
    one that broke off before its end has none.
    """
    values: dict[str, Any] = snapshot.values or {}
    questions = tuple(snapshot.interrupts)
    plan = values.get("plan")
    ended = is_over(snapshot)
    if not ended and values.get("stop_reason"):  # what is known is of the run before
        values = {"status": values["status"]}
    return Outcome(
        thread_id=str(snapshot.config["configurable"].get("thread_id", "")),
        status=values.get("status", "idle"),
        stop_reason="interrupted" if questions else values.get("stop_reason") if ended else None,
        success=bool(values.get("success")) and ended,
        output="\n".join(map(question_of, questions)) if questions else values.get("output", ""),
        results=values.get("results", []),
        usage=values.get("usage") or no_usage(),
        questions=questions,
        plan=plan,
        refused=tuple(refusals_of(plan) if plan else values.get("refused") or ()),
    )


def is_over(snapshot: StateSnapshot) -> bool:
    """Whether a thread has nothing more to do.

    A task whose writes are all stored is not in `next` any more; until the next checkpoint has
    taken them up, it is still among the tasks, and what comes after it is still to be done.
    """
    return not (snapshot.next or snapshot.tasks)


def is_of_model(interrupt: Interrupt) -> bool:
    """Whether a run waits for its model server, and for no answer."""
    return isinstance(interrupt.value, dict) and interrupt.value.get("kind") == "model"


def draft_of_change(interrupt: Interrupt) -> str:
    """The answer that changes what is asked about, to be edited: empty where there is none.

    Of a call its arguments as JSON, of a plan its steps, a line each.
    """
    value = interrupt.value if isinstance(interrupt.value, dict) else {}
    if value.get("kind") == "plan":
        return "\n".join(["edit", *(step["text"] for step in value["plan"]["steps"])])
    if value.get("kind") == "approve":
        return f"edit {json.dumps(value['action_requests'][0]['args'], ensure_ascii=False)}"
    return ""


def subject_of(interrupt: Interrupt) -> str:
    """Return the question without how to answer in words, for a page that has buttons."""
    value = interrupt.value
    subject = value.get("subject") if isinstance(value, dict) else None
    return str(subject or question_of(interrupt))


def question_of(interrupt: Interrupt) -> str:
    """The question of an interrupt in words."""
    value = interrupt.value
    if isinstance(value, dict):
        return str(value.get("question") or value.get("inquire") or value)
    return str(value)
