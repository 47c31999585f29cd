"""The command line and environment of a program in a sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Confined(NamedTuple):
    """The actual command line and environment of a program."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
