"""A program as a sandbox starts it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Confined(NamedTuple):
    """A program as it is really started: its words and environment."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
