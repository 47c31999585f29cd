"""Options that commands share, and the settings and the context that they lead to."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any

from manus.budget_option import add_budget, merged

if TYPE_CHECKING:
    from manus.state.context import Context
    from manus.state.settings import Settings

_LONGEST_ID = 200


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """The options of `run`, `flow` and `resume`."""
    parser.add_argument(
        "--workspace", metavar="DIR", help="the directory to work in (default ./workspace)"
    )
    parser.add_argument(
        "--max-steps", metavar="N", type=positive, help="step budget (default: the profile's)"
    )
    add_budget(parser)
    parser.add_argument("--profile", metavar="NAME", help="kind of agent (default manus)")
    parser.add_argument("--model", metavar="PROVIDER:NAME", help="model to use, or replay:FILE")
    parser.add_argument("--record", metavar="FILE", help="record the model's turns to a file")
    add_output_options(parser)


def add_new_run_options(parser: argparse.ArgumentParser) -> None:
    """What `run` and `flow` take besides: the request and its thread."""
    parser.add_argument(
        "prompt", nargs="*", metavar="PROMPT", help="what to do; read from stdin if missing"
    )
    parser.add_argument(
        "--thread", metavar="ID", type=thread_id, help="go on with a thread, or name a new one"
    )
    parser.add_argument(
        "--or-replay", metavar="FILE", help="play this recording where no model is configured"
    )
    add_run_options(parser)


def add_output_options(parser: argparse.ArgumentParser) -> None:
    """How the outcome is told."""
    parser.add_argument("--json", action="store_true", help="the outcome as one JSON object")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")


def positive(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def thread_id(text: str) -> str:
    """A thread's id: short, printable, without spaces at its ends."""
    if not text or text != text.strip() or len(text) > _LONGEST_ID or not text.isprintable():
        raise argparse.ArgumentTypeError(
            f"{text[:40]!r} cannot be a thread's id: 1 to {_LONGEST_ID} printable characters"
        )
    return text


def read_settings() -> Settings:
    """The settings of the environment, a `.env` file here, and `manus.toml`.

    Raises:
        SettingsError: one does not fit.
    """
    from manus.state.settings import load_settings

    if os.path.exists(".env"):  # noqa: PTH110 - pathlib costs more than the question
        from dotenv import load_dotenv

        load_dotenv(".env", override=False)
    return load_settings(os.environ)


def read_context(args: argparse.Namespace, **known: Any) -> Context:
    """What the flags choose for a run, over what is known of it; of a budget in words."""
    from manus.state.context import Context

    chosen = {name: getattr(args, name) for name in ("workspace", "max_steps", "model", "record")}
    if getattr(args, "approve_plan", False):
        chosen["approve_plan"] = True
    given = {name: value for name, value in chosen.items() if value is not None}
    if limits := merged(known.pop("budget", ""), args.budget):
        given["budget"] = limits
    interactive = sys.stdin is not None and sys.stdin.isatty()
    return Context(**{**known, **given, "interactive": interactive})
