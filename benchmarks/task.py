"""The task of both sides: the same prompt and tool, and observations of one kilobyte."""

from __future__ import annotations

import random
from typing import Any

SYSTEM = "You look at one thing after another. " + "You work with care. " * 60
NEXT = "Decide on the next step."
_LETTERS = "etaoinshrdlucmfwyp"
_WORDS = ["".join(random.Random(seed).choices(_LETTERS, k=3 + seed % 7)) for seed in range(2000)]
TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "look",
            "description": "Look at a place.",
            "parameters": {
                "type": "object",
                "properties": {"place": {"type": "string", "description": "Where to look"}},
                "required": ["place"],
            },
        },
    }
]


def observation(place: str) -> str:
    """Return a kilobyte of made-up words, different for each place, compressible like prose."""
    return " ".join(random.Random(place).choices(_WORDS, k=145))[:1024]


def look(place: str) -> str:
    """Look at a place."""
    return observation(place)


def request(name: str) -> str:
    """Return the request of a run, which contains its name, steps and latency."""
    return f"Look at every item: {name}."
