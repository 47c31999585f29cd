"""Write the pages of `docs/reference/` from the code: docstrings, settings, commands, tools.

python scripts/write_reference.py           # after a change of any of them
python scripts/write_reference.py --check   # 1, naming the pages, if one is not up to date
"""

from __future__ import annotations

import ast
import inspect
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import click
from langchain_core.messages import HumanMessage
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "reference"
NOTE = "<!-- Made by scripts/write_reference.py from the code: change that, not this page. -->\n\n"


def docstrings(kind: type) -> dict[str, str]:
    """The texts below a class's attributes, those of its bases included."""
    found: dict[str, str] = {}
    for one in reversed(kind.__mro__):
        if one.__module__.partition(".")[0] != "manus":
            continue
        try:
            body = ast.parse(textwrap.dedent(inspect.getsource(one))).body[0]
        except OSError:  # made while the program runs: it has no source
            continue
        assert isinstance(body, ast.ClassDef)
        for field, text in zip(body.body, body.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                assert isinstance(field.target, ast.Name)
                found[field.target.id] = ast.literal_eval(text.value)
    return found


def cell(text: str) -> str:
    """A text as a table's cell."""
    return without_links(" ".join(text.split())).replace("|", "\\|")


def without_links(text: str) -> str:
    """A text whose examples of Markdown are not taken for Markdown."""
    return text.replace("](", "]\\(")


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


def field_rows(kind: type[BaseModel], *, besides: frozenset[str] = frozenset()) -> Iterator[str]:
    """The table of a model's fields."""
    said = docstrings(kind)
    yield "| Name | Type | Default | |"
    yield "| --- | --- | --- | --- |"
    for name, field in kind.model_fields.items():
        if name not in besides:
            text = cell(said.get(name) or field.description or "")
            shown = cell(type_name(field.annotation))
            yield f"| `{name}` | {shown} | {cell(default_of(field))} | {text} |"


def first_part(kind: Any) -> str:
    """A docstring without its sections on errors."""
    return (inspect.getdoc(kind) or "").partition("\n\nRaises:")[0]


def settings_page() -> Iterator[str]:
    """`settings.md`."""
    from manus.state.budget import Budget
    from manus.state.mcp_settings import McpServer
    from manus.state.model_settings import ContextSettings, ModelSettings, Price
    from manus.state.profile_settings import ProfileSettings
    from manus.state.settings import Settings

    yield "# Settings\n"
    yield (
        "A flag counts before the environment, the environment before `manus.toml`, that before "
        "the default. A setting that nobody knows, or that does not fit, is an error that names "
        "it.\n"
    )
    yield "## At the top of the file\n"
    yield "Each of those that are not a table has a variable too: `MANUS_` and its name.\n"
    groups = {
        "budget": ("[budget]", Budget),
        "context": ("[context]", ContextSettings),
        "browser": ("[browser]", Settings.model_fields["browser"].annotation),
        "search": ("[search]", Settings.model_fields["search"].annotation),
        "egress": ("[egress]", Settings.model_fields["egress"].annotation),
        "roles": ("[roles.NAME]", ModelSettings),
        "prices": ("[prices.NAME]", Price),
        "profiles": ("[profiles.NAME]", ProfileSettings),
        "mcp": ("[mcp.NAME]", McpServer),
    }
    yield from field_rows(Settings, besides=frozenset(groups))
    for name, (title, kind) in groups.items():
        yield f"\n## `{title}`\n"
        yield docstrings(Settings).get(name) or first_part(kind)
        yield ""
        if kind is ModelSettings:
            yield "The fields of a model, as at the top: " + ", ".join(
                f"`{field}`" for field in ModelSettings.model_fields
            )
        else:
            assert isinstance(kind, type)
            yield from field_rows(kind)
    yield "\n## Other variables\n"
    yield from variable_rows()


def variable_rows() -> Iterator[str]:
    """The variables that are not named after a setting at the top of the file."""
    from manus.state.settings import _FOREIGN, _GROUPED

    yield "| Variable | Stands for |\n| --- | --- |"
    for variable, field in _FOREIGN.items():
        yield f"| `{variable}` | `{field}`, where ours is not set |"
    for variable, (group, field) in _GROUPED.items():
        yield f"| `{variable}` | `{field}` of `[{group}]` |"


def commands_page() -> Iterator[str]:
    """`commands.md`."""
    from manus.commands import EXIT_CODES, program

    yield "# Commands\n"
    yield f"{EXIT_CODES}\n"
    for name, command in program.commands.items():
        yield from command_section(name, command)


def command_section(name: str, command: click.Command) -> Iterator[str]:
    """What a command does, and what it takes."""
    yield f"\n## `manus {name}`\n"
    yield f"{inspect.cleandoc(command.help or '')}\n"
    if isinstance(command, click.Group):
        for word, sub in command.commands.items():
            yield from command_section(f"{name} {word}", sub)
        return
    yield "| | |\n| --- | --- |"
    for parameter in command.params:
        said = parameter.help or "" if isinstance(parameter, click.Option) else ""
        yield f"| `{shown_parameter(parameter)}` | {cell(said)} |"


def shown_parameter(parameter: click.Parameter) -> str:
    """An option or argument as it is typed."""
    if isinstance(parameter, click.Argument):
        context = click.Context(click.Command(""))
        return parameter.make_metavar(context)
    names = ", ".join(parameter.opts)
    is_flag = isinstance(parameter, click.Option) and parameter.is_flag
    return names if is_flag else f"{names} {parameter.metavar or ''}".rstrip()


def tools_page() -> Iterator[str]:
    """`tools.md`."""
    from manus.tools.catalog import BUILT_IN
    from manus.tools.session import Session
    from manus.tools.workspace import Workspace

    yield "# Tools\n"
    yield "As a model is told of them. A profile's `tools` are names from this page, `mcp` for "
    yield "the tools of MCP servers, and functions of your own as `MODULE:NAME`."
    with tempfile.TemporaryDirectory() as folder:
        session = Session(Workspace(folder))
        for name, place in {**BUILT_IN, "recall": "manus.tools.recall:Recall"}.items():
            module, _, attribute = place.partition(":")
            tool = getattr(import_module(module), attribute)(session=session)
            yield f"\n## `{name}`\n"
            yield without_links(tool.description)
            yield ""
            schema = tool.tool_call_schema
            if isinstance(schema, type):
                yield from field_rows(schema)


def python_page() -> Iterator[str]:
    """`python.md`."""
    from manus.graph import build_agent, build_flow
    from manus.postgres import open_postgres
    from manus.sqlite import open_sqlite
    from manus.state.agent import AgentOutput, Usage
    from manus.state.context import Context
    from manus.state.errors import ManusError
    from manus.state.flow import FlowOutput
    from manus.state.profile import Profile

    yield "# Python\n"
    for function in (build_agent, build_flow, open_sqlite, open_postgres):
        yield f"\n## `{function.__module__}.{function.__name__}`\n"
        signature = inspect.signature(function, eval_str=False)
        yield f"```text\n{function.__name__}{shown_signature(signature)}\n```\n"
        yield as_text(inspect.getdoc(function) or "")
    yield "\n## `manus.state.context.Context`\n"
    yield f"{first_part(Context)}\n"
    yield from field_rows(Context)
    for kind in (AgentOutput, FlowOutput, Usage, Profile):
        yield f"\n## `{kind.__module__}.{kind.__name__}`\n"
        yield f"{as_text(inspect.getdoc(kind) or '')}\n"
        said = docstrings(kind)
        yield "| Name | Type | |\n| --- | --- | --- |"
        for name, hint in get_type_hints(kind).items():
            yield f"| `{name}` | {cell(type_name(hint))} | {cell(said.get(name, ''))} |"
    yield "\n## Events\n"
    yield 'What `astream(..., stream_mode="custom")` gives, by `type`.\n'
    yield "| `type` | | Fields |\n| --- | --- | --- |"
    yield from event_rows()
    yield "\n## `manus.state.errors`\n"
    module = sys.modules[ManusError.__module__]
    yield as_text(inspect.getdoc(module) or "")


def shown_signature(signature: inspect.Signature) -> str:
    """A signature with its types as they are written, not as the strings that they are."""
    text = str(signature)
    for one in (*signature.parameters.values(), signature):
        kind = one.annotation if isinstance(one, inspect.Parameter) else one.return_annotation
        if isinstance(kind, str):
            text = text.replace(repr(kind), kind)
    return text


def event_rows() -> Iterator[str]:
    """The custom events, each with its fields."""
    from manus.state import events

    for kind in vars(events).values():
        if inspect.isclass(kind) and kind.__name__.endswith("Event"):
            hints = get_type_hints(kind)
            [name] = get_args(hints.pop("type"))
            fields = ", ".join(f"`{field}`" for field in hints)
            yield f"| `{name}` | {cell(inspect.getdoc(kind) or '')} | {fields} |"


def as_text(docstring: str) -> str:
    """A docstring as Markdown: its indented parts as they stand."""
    blocks = docstring.split("\n\n")
    return "\n\n".join(f"```text\n{b}\n```" if "\n    " in b else b for b in blocks)


PAGES = {
    "settings.md": settings_page,
    "commands.md": commands_page,
    "tools.md": tools_page,
    "python.md": python_page,
}


def written(name: str) -> str:
    """The text of a page."""
    return NOTE + "\n".join(PAGES[name]()).rstrip() + "\n"


def main() -> int:
    """Write the pages, or say which are not up to date."""
    if "--check" in sys.argv[1:]:
        old = [n for n in PAGES if (FOLDER / n).read_text(encoding="utf-8") != written(n)]
        sys.stdout.write("".join(f"docs/reference/{name} is not up to date\n" for name in old))
        return 1 if old else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in PAGES:
        (FOLDER / name).write_text(written(name), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
