"""The estimate of tokens beside the counts of three real vocabularies.

`data/tokens.json` holds texts with the counts that the tokenizers of OpenAI (`o200k_base`,
`cl100k_base`) and Mistral (`tekken`) gave for them.
"""

from __future__ import annotations

import base64
import itertools
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from manus.models.image_tokens import UNKNOWN, image_tokens, size_of
from manus.models.languages import cyrillic_cost, latin_cost
from manus.models.tokens import (
    Calibration,
    estimate_message,
    estimate_request,
    estimate_text,
    estimate_tools,
)
from tests.helpers.tools import RED_DOT

# Texts written for these tests, and how many tokens the tokenizers of three vocabularies make of
# them. Those that are held out were written after the estimate was fitted, which was not fitted to
# them afterwards; the short ones are lines of both.
DATA = Path(__file__).parent / "data"
SAMPLES: list[dict[str, Any]] = json.loads((DATA / "tokens.json").read_text("utf-8"))
HELD_OUT: list[dict[str, Any]] = json.loads((DATA / "tokens_held_out.json").read_text("utf-8"))
SHORT: list[dict[str, Any]] = json.loads((DATA / "tokens_short.json").read_text("utf-8"))
KINDS = sorted({sample["kind"] for sample in SAMPLES})
VOCABULARIES = ("o200k_base", "cl100k_base", "tekken")


def of_kind(kind: str) -> list[dict[str, Any]]:
    return [sample for sample in SAMPLES if sample["kind"] == kind]


def sums_of(samples: list[dict[str, Any]]) -> tuple[float, int]:
    """Tokens as estimated, and as counted."""
    estimated = sum(estimate_text(sample["text"]) for sample in samples)
    return estimated, sum(sample["o200k_base"] for sample in samples)


@pytest.mark.parametrize("kind", KINDS)
def test_without_calibration_it_is_near_the_newest_vocabulary(kind: str) -> None:
    estimated, counted = sums_of(of_kind(kind))
    assert estimated == pytest.approx(counted, rel=0.1)


@pytest.mark.parametrize("kind", sorted({sample["kind"] for sample in HELD_OUT}))
def test_it_is_near_for_texts_that_nothing_was_fitted_to(kind: str) -> None:
    estimated, counted = sums_of([sample for sample in HELD_OUT if sample["kind"] == kind])
    assert estimated == pytest.approx(counted, rel=0.1)


@pytest.mark.parametrize(("kind", "vocabulary"), list(itertools.product(KINDS, VOCABULARIES)))
def test_calibrated_on_one_text_it_is_near_for_the_next(kind: str, vocabulary: str) -> None:
    first, second = of_kind(kind)
    calibration = Calibration()
    calibration.learn(estimate_text(first["text"]), first[vocabulary])
    estimated = calibration(estimate_text(second["text"]))
    assert estimated == pytest.approx(second[vocabulary], rel=0.1)


@pytest.mark.parametrize("most", [10, 30, 100])
def test_short_texts_are_not_counted_too_large_by_habit(most: int) -> None:
    """One is a token or two off; what counts is that many of them together are not."""
    short = [sample for sample in SHORT if sample["o200k_base"] < most]
    estimated, counted = sums_of(short)
    assert estimated == pytest.approx(counted, rel=0.03)
    assert estimate_text("Done.\n") > estimate_text("Done.") - 0.01
    assert estimate_text("yes\r\nno\r\n") == estimate_text("yes\nno\n")


@pytest.mark.parametrize("samples", [SAMPLES, HELD_OUT])
def test_a_mixed_history_is_near(samples: list[dict[str, Any]]) -> None:
    estimated, counted = sums_of(samples)
    assert estimated == pytest.approx(counted, rel=0.04)


@pytest.mark.parametrize("kind", ["python", "javascript", "json", "csv", "log", "shell"])
def test_names_in_code_are_no_words_of_a_language(kind: str) -> None:
    assert [latin_cost(sample["text"]) for sample in of_kind(kind)] == [None, None]


def test_a_language_is_told_from_its_words_or_letters() -> None:
    assert latin_cost("This is the text of a letter that was not sent.") is None
    german, czech = (
        latin_cost(t) for t in ("Das ist nicht der Brief.", "To se na mne jako že ne.")
    )
    assert german is not None
    assert czech is not None
    assert german(9) < czech(9)
    russian, ukrainian = cyrillic_cost("мы были"), cyrillic_cost("ми їхали")
    assert russian(9) < ukrainian(9)


def test_a_long_text_is_estimated_from_parts_of_it() -> None:
    whole = "".join(sample["text"] for sample in SAMPLES)
    long = whole * 12
    assert estimate_text(long) == pytest.approx(12 * estimate_text(whole), rel=0.1)


@pytest.mark.parametrize("text", ["", " ", "\n", "a", "\ud800", "\x00", "a" * 100_000, "é"])
def test_any_text_has_an_estimate(text: str) -> None:
    assert (estimate_text(text) > 0) == bool(text)


def test_figures_beyond_reason_are_not_learned() -> None:
    calibration = Calibration()
    calibration.learn(100, 0)
    calibration.learn(100, 100_000)
    assert calibration.factor == 1.0
    calibration.learn(100, 150)
    assert calibration(10) == 15


def test_a_message_has_its_calls_images_and_tools_counted() -> None:
    text = "Look at the picture."
    call = {"id": "1", "name": "bash", "args": {"command": "ls -la /tmp/folder"}}
    plain = estimate_message(AIMessage(text))
    assert estimate_message(AIMessage(text, tool_calls=[call])) > plain + 15
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{RED_DOT}"}}
    seen = ToolMessage([{"type": "text", "text": text}, image], tool_call_id="1")
    assert estimate_message(seen) > 255
    tools = [{"type": "function", "function": {"name": "bash", "description": "Run a command."}}]
    messages = [HumanMessage(text), seen]
    assert estimate_request(messages, tools) - estimate_request(messages) == pytest.approx(
        estimate_tools(tools)
    )


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height)


JPEG = b"\xff\xd8\xff\xe0" + struct.pack(">H", 4) + b"xx" + b"\xff\xc0" + struct.pack(
    ">HBHH", 11, 8, 480, 640
)  # fmt: skip
GIF = b"GIF89a" + struct.pack("<HH", 320, 200)
WEBP = b"RIFF....WEBPVP8X" + b"\x00" * 8 + (639).to_bytes(3, "little") + (479).to_bytes(3, "little")


@pytest.mark.parametrize(
    ("head", "size"),
    [
        (png(1024, 1024), (1024, 1024)),
        (JPEG, (640, 480)),
        (GIF, (320, 200)),
        (WEBP, (640, 480)),
        (b"BM", None),
        (b"\xff\xd8\xff", None),
    ],
)
def test_the_size_of_an_image(head: bytes, size: tuple[int, int] | None) -> None:
    assert size_of(head) == size


@pytest.mark.parametrize(
    ("size", "provider", "tokens"),
    [
        ((1024, 1024), "openai", 765),
        ((2048, 4096), "openai", 1105),
        ((100, 100), "openai", 255),
        ((1000, 1000), "anthropic", 1334),
        ((300, 300), "google", 258),
        ((1000, 1000), "google", 1032),
    ],
)
def test_images_cost_what_providers_publish(
    size: tuple[int, int], provider: str, tokens: int
) -> None:
    data = base64.b64encode(png(*size)).decode()
    block = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
    assert image_tokens(block, provider) == tokens
    low = {"type": "image_url", "image_url": {"url": f"data:;base64,{data}", "detail": "low"}}
    assert image_tokens(low) == 85


def test_an_image_behind_an_address_has_a_usual_size() -> None:
    block = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    data = base64.b64encode(png(*UNKNOWN)).decode()
    known = {"type": "image", "base64": data, "mime_type": "image/png"}
    assert image_tokens(block) == image_tokens(known)
