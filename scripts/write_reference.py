"""Write the pages of `docs/reference/` from the code: docstrings, settings, commands, tools.

python scripts/write_reference.py           # after a change of any of them
python scripts/write_reference.py --check   # 1, naming the pages, if one is not up to date
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import click
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
NOTE = "<!-- Made by scripts/write_reference.py from the code: change that, not this page. -->\n\n"
TABLES = (
    *("budget", "context", "browser", "search", "egress", "sandbox", "approve"),
    *("roles", "prices", "profiles", "mcp"),
)
"""Settings that are tables of the file."""
NAMED = ("roles", "prices", "profiles", "mcp")
"""Those of them that hold a table for each name."""


def docstrings(kind: type) -> dict[str, str]:
    """The texts below a class's attributes, those of its bases included."""
    found: dict[str, str] = {}
    for one in reversed([k for k in kind.__mro__ if k.__module__.startswith("manus.")]):
        try:
            body = ast.parse(textwrap.dedent(inspect.getsource(one))).body[0]
        except OSError:  # made while the program runs: it has no source
            continue
        assert isinstance(body, ast.ClassDef)
        for field, text in zip(body.body, body.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                found[ast.unparse(field.target)] = ast.literal_eval(text.value)
    return found


def row(name: str, *cells: str) -> str:
    """A row of a table; examples of Markdown in it are not taken for Markdown."""
    texts = (" ".join(text.split()).replace("](", "]\\(").replace("|", "\\|") for text in cells)
    return f"| `{name}` | {' | '.join(texts)} |"


def type_name(annotation: Any) -> str:
    """A type as one would say it."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in inner)
    if origin is Annotated:
        return type_name(inner[0])
    if HumanMessage in inner:
        return "message"  # and not the name of each kind of message
    if origin in (Union, UnionType):
        return " or ".join(type_name(one) for one in inner if one is not NoneType)
    if origin in (list, tuple, frozenset, Sequence):
        return f"list of {type_name(inner[0])}"
    if origin in (dict, Mapping):
        return f"table of {type_name(inner[1])}"
    name = str(getattr(annotation, "__name__", annotation))
    return {"SecretStr": "str, secret"}.get(name, name)


def default_of(field: FieldInfo) -> str:
    """A field's default, in words."""
    value = field.get_default(call_default_factory=True, validated_data={})
    if value is PydanticUndefined:
        return "must be given"
    if value is None or value in ((), {}) or isinstance(value, BaseModel):
        return ""
    return f"`{', '.join(value) if isinstance(value, tuple) else str(value)}`"


def fields(kind: type[BaseModel], besides: Sequence[str] = ()) -> Iterator[str]:
    """The table of a model's fields."""
    said = docstrings(kind)
    yield "| Name | Type | Default | |\n| --- | --- | --- | --- |"
    for name, field in kind.model_fields.items():
        if name not in besides:
            text = said.get(name) or field.description or ""
            yield row(name, type_name(field.annotation), default_of(field), text)


def model_in(annotation: Any) -> Any:
    """The settings that a type is a table of, or has one of for each name."""
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(model_in, get_args(annotation))), None)


def settings_page() -> Iterator[str]:
    """`settings.md`."""
    from manus.config.model_settings import ModelSettings
    from manus.config.settings import _OPENAI_VARIABLES, _SHORT_VARIABLES, Settings

    yield (
        "# Settings\n\nA flag counts before the environment, that before the `manus.toml` of "
        "the folder, that before your own (`~/.config/manus/manus.toml`), "
        "that before the default. A setting that nobody knows, or that does not fit, is an error "
        "that names it.\n\n## At the top of the file\n\n"
        "Each of those that are not a table has a variable too: `MANUS_` and its name.\n"
    )
    yield from fields(Settings, TABLES)
    for name in TABLES:
        kind = model_in(Settings.model_fields[name].annotation)
        yield f"\n## `[{name}{'.NAME' if name in NAMED else ''}]`\n"
        yield (docstrings(Settings).get(name) or docstring(kind).partition("\n\nRaises:")[0]) + "\n"
        if kind is ModelSettings:
            names = (f"`{field}`" for field in ModelSettings.model_fields)
            yield "The fields of a model, as at the top: " + ", ".join(names)
        else:
            yield from fields(kind)
    yield "\n## Other variables\n\n| Variable | Stands for |\n| --- | --- |"
    for variable, field in _OPENAI_VARIABLES.items():
        yield row(variable, f"`{field}`, where ours is not set")
    for variable, (group, field) in _SHORT_VARIABLES.items():
        yield row(variable, f"`{field}` of `[{group}]`")


def commands_page() -> Iterator[str]:
    """`commands.md`."""
    from manus.cli.commands import EXIT_CODES, program

    yield f"# Commands\n\n{EXIT_CODES}\n"
    for name, command in program.commands.items():
        yield from command_section(name, command)


def command_section(name: str, command: click.Command) -> Iterator[str]:
    """What a command does, and what it takes."""
    yield f"\n## `manus {name}`\n\n{inspect.cleandoc(command.help or '')}\n"
    if isinstance(command, click.Group):
        for word, sub in command.commands.items():
            yield from command_section(f"{name} {word}", sub)
        return
    context = click.Context(command)
    yield "| | |\n| --- | --- |"
    for parameter in command.params:
        shown = parameter.get_help_record(context) or (parameter.make_metavar(context), "")
        yield row(*shown)


def tools_page() -> Iterator[str]:
    """`tools.md`."""
    from manus.execution.catalog import BUILT_IN
    from manus.execution.session import Session
    from manus.execution.workspace import Workspace

    yield (
        "# Tools\n\nAs a model is told of them. A profile's `tools` are names from this page, "
        "`mcp` for\nthe tools of MCP servers, and functions of your own as `MODULE:NAME`."
    )
    with tempfile.TemporaryDirectory() as folder:
        session = Session(Workspace(folder))
        for name, place in {**BUILT_IN, "recall": "manus.tools.recall:Recall"}.items():
            module, _, attribute = place.partition(":")
            tool = getattr(import_module(module), attribute)(session=session)
            described = tool.description.replace("](", "]\\(")
            yield f"\n## `{name}`\n\n{described}\n"
            if isinstance(tool.tool_call_schema, type):
                yield from fields(tool.tool_call_schema)


def python_page() -> Iterator[str]:
    """`python.md`."""
    import manus.state.errors
    from manus import build_agent, build_flow
    from manus.config.context import Context
    from manus.config.profile import Profile
    from manus.state import events
    from manus.state.agent import AgentOutput
    from manus.state.flow import FlowOutput
    from manus.state.usage import Usage
    from manus.store.postgres import open_postgres
    from manus.store.sqlite import open_sqlite

    yield "# Python\n"
    for function in (build_agent, build_flow, open_sqlite, open_postgres):
        # types as they are written, not as the strings that they are
        signature = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(function)))
        yield f"\n## `{function.__module__}.{function.__name__}`\n"
        yield f"```text\n{function.__name__}{signature}\n```\n\n{docstring(function)}"
    yield f"\n## `{Context.__module__}.Context`\n\n{docstring(Context)}\n"
    yield from fields(Context)
    for kind in (AgentOutput, FlowOutput, Usage, Profile):
        said = docstrings(kind)
        yield f"\n## `{kind.__module__}.{kind.__name__}`\n\n{docstring(kind)}\n"
        yield "| Name | Type | |\n| --- | --- | --- |"
        # a name that the module imports for its types alone
        for name, hint in get_type_hints(kind, localns={"BaseChatModel": BaseChatModel}).items():
            yield row(name, type_name(hint), said.get(name, ""))
    yield '\n## Events\n\nWhat `astream(..., stream_mode="custom")` gives, by `type`.\n'
    yield "| `type` | | Fields |\n| --- | --- | --- |"
    for kind in vars(events).values():
        if inspect.isclass(kind) and kind.__name__.endswith("Event"):
            hints = get_type_hints(kind)
            [name] = get_args(hints.pop("type"))
            yield row(name, docstring(kind), ", ".join(f"`{field}`" for field in hints))
    yield f"\n## `manus.state.errors`\n\n{docstring(manus.state.errors)}"


def docstring(thing: Any) -> str:
    """A docstring as Markdown: its indented parts as they stand."""
    blocks = (inspect.getdoc(thing) or "").split("\n\n")
    return "\n\n".join(f"```text\n{b}\n```" if "\n    " in b else b for b in blocks)


PAGES = {
    "settings.md": settings_page,
    "commands.md": commands_page,
    "tools.md": tools_page,
    "python.md": python_page,
}


def main() -> int:
    """Write the pages, or say which are not up to date."""
    texts = {name: NOTE + "\n".join(page()).rstrip() + "\n" for name, page in PAGES.items()}
    if "--check" in sys.argv[1:]:
        old = [name for name, text in texts.items() if (FOLDER / name).read_text("utf-8") != text]
        sys.stdout.write("".join(f"docs/reference/{name} is not up to date\n" for name in old))
        return 1 if old else 0
    for name, text in texts.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
