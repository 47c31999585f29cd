"""One step of an agent as HTML: thought, calls, observations, what happened around it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from manus.run_report.clock import Clock
from manus.run_report.diff_view import diff_view
from manus.run_report.facts import AgentStep, Call, Conversation, Notice, Picture
from manus.run_report.markup import Html, block, join, tag
from manus.run_report.prose import prose
from manus.run_report.words import moment, span, tokens
from manus.text import first_line, main_argument

_LONGEST = 40_000
"""Characters of a text that stand in the page; of a longer one its beginning and its end."""
_SHORT = 80
_SIGNS = {
    "loop": "↻",
    "compaction": "≡",
    "question": "?",
    "answer": "»",
    "resumed": "‖",
    "edited": "*",
    "budget": "!",
}


def steps_view(talk: Conversation, clock: Clock, key: str) -> Html:
    """All steps of a conversation."""
    steps = [step_view(step, clock, key) for step in talk.steps]
    loose = block("div", f"{key}-loose", *map(notice, talk.loose)) if talk.loose else None
    return tag("div", *steps, loose, class_="steps", id=f"{key}-steps", data_c=True)


def step_view(step: AgentStep, clock: Clock, key: str) -> Html:
    """A step; its place on the page is `KEY-sNUMBER`."""
    place = f"{key}-s{step.number}"
    head = tag(
        "header",
        tag("a", str(step.number), class_="num", href=f"#{place}", title="Link to this step"),
        tag("span", clock.label(step.began), class_="when", title=moment(step.began)),
        tag("span", _measures(step, clock), class_="measures"),
    )
    thought = tag("div", prose(step.thought), class_="thought") if step.thought else None
    return block(
        "article",
        place,
        *map(notice, step.before),
        head,
        thought,
        *map(call_view, step.calls),
        *map(notice, step.after),
        class_="step bad" if step.has_error else "step",
        tabindex="-1",
        aria_label=f"Step {step.number}",
    )


def _measures(step: AgentStep, clock: Clock) -> str:
    began, thought = clock.seconds(step.began), clock.seconds(step.thought_at)
    parts = [f"thought {span(thought - began)}"]
    if step.ended is not None and step.calls:
        parts.append(f"acted {span(clock.seconds(step.ended) - thought)}")
    if step.tokens is not None:
        parts.append(tokens(step.tokens))
    return " · ".join(parts)


def call_view(call: Call) -> Html:
    """A call, folded to one line: tool, main argument, first line of what came back."""
    ended = call.observation is not None
    tone = "bad" if call.is_error else "ok" if ended else "open"
    words = first_line(call.observation or "") if ended else "no answer yet"
    summary = tag(
        "summary",
        tag("span", call.name, class_="tool"),
        tag("span", main_argument(call.args)[:200], class_="arg"),
        _counts(call),
        tag("span", words[:200], class_="outcome"),
    )
    body = tag("div", *_arguments(call), *_observation(call), class_="body")
    shown = [picture(p, f"what {call.name} showed") for p in call.pictures]
    return join([tag("details", summary, body, class_=f"call {tone}"), *shown])


def _counts(call: Call) -> Html | None:
    if call.edit is None:
        return None
    added = tag("span", f"+{call.edit.added}", class_="plus")
    removed = tag("span", f"−{call.edit.removed}", class_="minus")
    return tag("span", added, " ", removed, class_="counts")


def _arguments(call: Call) -> Iterable[Html]:
    if not isinstance(call.args, dict):
        yield tag("pre", _cut(str(call.args)), dir="auto")
        return
    hidden = ("file_text", "old_str", "new_str") if call.edit is not None else ()
    short, long = [], []
    for name, value in call.args.items():
        words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if name in hidden:
            continue
        if len(words) <= _SHORT and "\n" not in words:
            short.append(tag("div", tag("dt", name), tag("dd", words, dir="auto")))
        else:
            long.append(tag("p", name, class_="label"))
            long.append(tag("pre", _cut(words), class_="code", dir="auto"))
    if short:
        yield tag("dl", *short, class_="args")
    yield from long
    if call.edit is not None:
        yield diff_view(call.edit.diff)


def _observation(call: Call) -> Iterable[Html]:
    if call.observation is None:
        yield tag("p", "There is no answer to this call yet.", class_="label")
        return
    yield tag("p", "error" if call.is_error else "observation", class_="label")
    yield tag("pre", _cut(call.observation), class_="observation", dir="auto")


def _cut(words: str) -> str:
    if len(words) <= _LONGEST:
        return words
    half = _LONGEST // 2
    left = len(words) - 2 * half
    note = f"[… {left:,} characters are left out here; `manus show --full` has them …]"
    return f"{words[:half]}\n\n{note}\n\n{words[-half:]}"


def picture(shown: Picture, words: str) -> Html:
    """An image in the page."""
    source = f"data:{shown.mime};base64,{shown.data}"
    image = tag("img", src=Html(source) if _is_plain(source) else None, alt=shown.name or words)
    caption = tag("figcaption", shown.name) if shown.name else None
    return tag("figure", image, caption, class_="picture")


def _is_plain(source: str) -> bool:
    return source.isascii() and not any(sign in source for sign in "\"'<>& ")


def notice(told: Notice) -> Html:
    """Something out of the ordinary course."""
    sign = tag("span", _SIGNS[told.kind], class_="sign", aria_hidden="true")
    title = tag("strong", told.title)
    if told.kind == "compaction" and told.text:
        inside = tag("details", tag("summary", title), prose(told.text))
    else:
        inside = join([title, tag("div", told.text, class_="words", dir="auto")])
    when = tag("time", moment(told.at)) if told.at is not None else None
    return tag("aside", sign, tag("div", inside), when, class_=f"notice {told.kind}")


def plan_view(plan: dict[str, Any]) -> Html:
    """The plan that an agent kept for itself."""
    steps = [
        tag("li", step["text"], tag("small", f" {step['notes']}"), class_=step["status"])
        for step in plan.get("steps", [])
    ]
    return tag("ol", *steps, class_="planned", start="0")
