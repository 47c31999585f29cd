"""The options of a run, whether it is started by a command, the page or a server.

A new option needs a field here and, for the command line, a click option in `manus/cli/options.py`.
A field with the name of a `Context` field becomes part of the run's context.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

Limits = dict[str, float]
"""Limits of a budget, by field name of `manus.state.usage.Budget`."""
OutputFormat = Literal["text", "json", "jsonl"]
"""`jsonl`: one JSON object a line, for each event and for the outcome."""


@dataclass(slots=True)
class RunOptions:
    """The options of `run`, `flow`, `resume` and `chat`."""

    prompt: tuple[str, ...] = ()
    thread: str | None = None
    workspace: str | None = None
    max_steps: int | None = None
    budget: tuple[Limits, ...] = ()
    profile: str | None = None
    model: str | None = None
    local: bool = False
    """Whether the model server of this machine is used."""
    record: str | None = None
    reuse: str | None = None
    or_replay: str | None = None
    approve_plan: bool = False
    approve: str | None = None
    allow: tuple[str, ...] = ()
    answer: tuple[str, ...] = ()
    json: bool = False
    """Whether the outcome is printed as JSON, unless `output_format` says otherwise."""
    output_format: OutputFormat | None = None
    output_file: Path | None = None
    """The file that also gets the answer."""
    output_schema: Path | None = None
    """The JSON Schema of the answer."""
    quiet: bool = False
    verbose: bool = False
    chat: bool = False
    """Whether the run is part of a conversation, which prints the workspace itself."""
    last: bool = False
    compact: bool = False
    interactive: bool | None = None
    """Whether a person can answer questions. None: if stdin is a terminal."""
    queue: bool = False
    """Whether a worker executes the run."""
    each_line: bool = False
    """Whether each line of the request is a separate task; with `queue`."""
    files: tuple[Path, ...] = ()
    images: tuple[Path, ...] = ()

    @property
    def format(self) -> OutputFormat:
        """Return the format of stdout."""
        return self.output_format or ("json" if self.json else "text")


_NOT_STORED = frozenset({"compact", "interactive", "record", "reuse", "workspace"})
"""Options that a resumed run does not restore from its thread's checkpoints."""


def context_options() -> set[str]:
    """Return the names of the options that are fields of `Context`."""
    from manus.config.context import Context

    return {option.name for option in fields(RunOptions)} & Context.model_fields.keys()


def stored_options() -> set[str]:
    """Return the names of the options that are stored with a thread, for resuming it."""
    return context_options() - _NOT_STORED


def read_schema(file: Path | None) -> dict[str, Any] | None:
    """Return the schema in a file, with a title; None without a file. Blocking.

    Raises:
        UsageError: it is not the JSON Schema of an object, or nothing here can check the answer.
    """
    if file is None:
        return None
    from manus.config.packages import import_optional
    from manus.state.errors import UsageError
    from manus.state.text import read_json

    user, remedy = "--output-schema needs", "pip install jsonschema"
    validators = import_optional("jsonschema.validators", user, "jsonschema", remedy)
    try:
        schema = read_json(file.read_text("utf-8"))
        validators.validator_for(schema).check_schema(schema)
    except (OSError, ValueError, validators.exceptions.SchemaError) as error:
        problem = getattr(error, "message", error)
        raise UsageError(f"{file} is not a JSON Schema: {problem}.") from None
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise UsageError(f'{file} is not the JSON Schema of an object (`"type": "object"`).')
    return {"title": "answer", **schema}
