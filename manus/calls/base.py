"""The base classes of our tools and of their arguments, and errors about arguments."""

from __future__ import annotations

import asyncio
import difflib
import functools
import re
import reprlib
import shlex
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import UnionType
from typing import Any, ClassVar, Literal, TypeGuard, Union, cast, get_args, get_origin

from langchain_core.tools import BaseTool, ToolException
from pydantic import BaseModel, Field, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from typing_extensions import override

from manus.calls.result import Observation
from manus.calls.session import EVERYTHING, Resource, Session
from manus.calls.siblings import Needs
from manus.state.errors import ToolError
from manus.state.text import read_json
from manus.workspace.workspace import WORKSPACE

_SYNONYMS = (
    ("command", "cmd"),
    ("path", "file_path", "filepath", "file_name", "filename", "file"),
    ("query", "q", "search_query"),
    ("code", "python_code", "script"),
    ("url", "link", "href"),
    ("text", "content"),
    ("file_text", "content", "text"),
    ("old_str", "old_string", "old_text"),
    ("new_str", "new_string", "new_text"),
    ("answer", "summary", "message", "text", "output", "result"),
)
"""Groups of synonyms that models use for argument names."""
_MAX_PROBLEMS = 10
"""Maximum number of problems listed."""
_INVALID_ARGUMENTS = (TypeError, ValueError, LookupError, AttributeError)
"""Errors that a tool may raise in methods about calls with unvalidated arguments."""


class Arguments(BaseModel, extra="forbid"):
    """The base class of argument schemas: an unknown argument is an error rather than ignored."""

    @classmethod
    def tidy(cls, arguments: Any) -> Any:
        """Normalize arguments: replace unambiguous synonyms with our names.

        A list or an object that a model sent as JSON in a string is parsed; a null for an optional
        argument that does not accept one is dropped.
        """
        if not isinstance(arguments, dict):
            return arguments
        fields = cls.model_fields
        tidied = {}
        for key, value in arguments.items():
            name = key if key in fields else _resolve_name(key, fields, arguments)
            field = fields.get(name)
            if field is not None and value is None and _cannot_be_null(field):
                continue
            if name == "command" and isinstance(value, list) and all(map(_is_text, value)):
                value = _join_command(value)
            if field is not None and isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
                value = _parse_json_value(field, value)
            tidied[name] = value
        return tidied

    @model_validator(mode="before")
    @classmethod
    def _tidy(cls, arguments: Any) -> Any:
        return cls.tidy(arguments)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _join_command(words: list[str]) -> str:
    """Return an argument vector, as other agents' shells take it, as a command line."""
    if len(words) == 3 and re.fullmatch(r"(/\S*/)?(ba|z)?sh -\w*c", " ".join(words[:2])):
        return words[2]
    return shlex.join(words)


def _cannot_be_null(field: FieldInfo) -> bool:
    """Return whether null for a field can only mean its default."""
    may_be = field.annotation is Any or type(None) in get_args(field.annotation)
    return not (may_be or field.is_required())


def _resolve_name(name: str, fields: Collection[str], arguments: Mapping[str, Any]) -> str:
    """Return the missing field that an unknown name is a synonym of, otherwise the name itself.

    The name is kept if several fields match, or if several unknown names match one field.
    """
    synonyms: set[str] = set()
    for group in _SYNONYMS:
        if name in group:
            synonyms.update(group)
    candidates = [field for field in fields if field in synonyms and field not in arguments]
    rivals = [other for other in arguments if other in synonyms and other not in fields]
    if len(candidates) == 1 and rivals == [name]:
        return candidates[0]
    return name


def _parse_json_value(field: FieldInfo, value: str) -> Any:
    """Parse a JSON list or object if the field accepts one and does not accept a string."""
    annotation = field.annotation
    members: tuple[Any, ...] = (annotation,)
    if get_origin(annotation) in (Union, UnionType):
        members = get_args(annotation)
    types = {get_origin(member) or member for member in members}
    if str in types or Any in types or not any(map(_is_container, types)):
        return value
    try:
        return read_json(value)
    except ValueError:
        return value  # validation reports the error


def _is_container(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, list | dict | BaseModel)


def explain_arguments(tool: BaseTool, error: ValidationError) -> str:
    """Describe the problems with a call's arguments, one per line, and the tool's arguments."""
    schema = cast("type[BaseModel]", tool.tool_call_schema)  # without injected arguments
    errors = error.errors(include_url=False)[:_MAX_PROBLEMS]
    problems = [_describe_problem(details, schema) for details in errors]
    if len(problems) == 1 and problems[0].endswith("?"):  # it already has a suggestion
        return f"Invalid arguments for `{tool.name}`: {problems[0]}"
    wrong = "\n".join(f"- {problem}" for problem in problems)
    expected = _describe_arguments(schema)
    return f"Invalid arguments for `{tool.name}`:\n{wrong}\nIt takes: {expected}."


def _describe_problem(details: ErrorDetails, schema: type[BaseModel]) -> str:
    """Describe one problem in pydantic's words, with a suggestion for a name or a choice."""
    location = details["loc"]
    value = details["input"]
    candidates: list[str] = []
    label = f"`{'.'.join(map(str, location)) or 'arguments'}`"
    problem = f"{label}: {details['msg']}"
    if details["type"] == "extra_forbidden":
        problem = f"{label} is not an argument"
        value = location[-1]
        candidates = list(schema.model_fields)
    elif details["type"] != "missing":
        problem += f" (got {reprlib.repr(value)})"
    if details["type"] == "literal_error":
        candidates = re.findall(r"\w+", details["ctx"]["expected"])
    word = str(value)[:60].lower()
    suggestions = [name for name in candidates if name.startswith(f"{word}_")]
    if details["type"] == "extra_forbidden":
        suggestions += [name for name in candidates if name.endswith(f"_{word}")]
    suggestions += difflib.get_close_matches(word, candidates, n=1, cutoff=0.75)
    if suggestions and details["type"] == "literal_error":  # all choices are in the schema
        problem = f"{label}: there is no {reprlib.repr(value)}"
    return f"{problem}; did you mean `{suggestions[0]}`?" if suggestions else problem


def is_model(kind: Any) -> TypeGuard[type[BaseModel]]:
    """Return whether a type is a pydantic model."""
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _describe_arguments(schema: type[BaseModel]) -> str:
    """List the arguments of a schema, optional ones last, and nested ones in parentheses."""
    required: list[str] = []
    optional: list[str] = []
    for name, field in schema.model_fields.items():
        inner = field.annotation
        nested = f" ({_describe_arguments(inner)})" if is_model(inner) else ""
        kind = required if field.is_required() else optional
        kind.append(f"`{field.alias or name}`{nested}")
    if optional:
        optional[0] = f"optionally {optional[0]}"
    return ", ".join([*required, *optional]) or "no arguments"


@dataclass(frozen=True, slots=True)
class Approval:
    """Why a call needs approval, and what approval rules and guards check about it."""

    reason: str = ""
    """Why the user is asked, as in “it uploads a.txt”; empty if the call needs no approval."""
    subjects: tuple[str, ...] = ()
    """Texts that rules match, such as a path or a host: everything that the call may affect."""
    allowed_subjects: tuple[str, ...] | None = ()
    """Texts that allow rules must all cover [default: the subjects].

    None if no rule with a pattern can describe the call.
    """
    hosts: tuple[str, ...] = ()
    """Hosts to which the call sends what the model composed."""
    changes_repository: bool = False
    """Whether it plainly changes a git repository."""
    identity: str = ""
    """What identifies the call, in place of arguments that are valid only for the moment."""
    place: str = ""
    """Where the call acts, such as the address of a page."""


class AgentTool(BaseTool):
    """A tool of one session.

    A subclass defines `name`, `description` and `args_schema` (with a description of each argument)
    and implements `observe`, which returns an `Observation` or raises `ToolError` with a sentence
    that states what is wrong and what to do instead. The other methods are optional: `resources`,
    `read_only`, `acts_outside`, `approval` and `preview`.
    """

    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    session: Session = Field(exclude=True, repr=False)
    time_limit: ClassVar[float] = 900.0
    """Timeout in seconds after which a call is cancelled, regardless of its own limit."""
    channels: ClassVar[frozenset[str]] = frozenset()
    """Channels of the state besides the messages that a call may change."""
    uses: ClassVar[str] = EVERYTHING
    """The resource that each call uses and may change; override `resources` for other ones."""
    without_effect: ClassVar[bool] = False
    """Whether calls have no side effects and use no shared resource."""
    starts_programs: ClassVar[bool] = False
    """Whether a call executes code of the model, which needs approval where no sandbox works."""
    is_optional: ClassVar[bool] = False
    """Whether a call that needs approval is declined where no person is present."""
    logs_writes: ClassVar[bool] = True
    """Whether all files that a call changes are written by `safe_open` or in the sandbox."""
    summary: ClassVar[str] = ""
    """One line for the list of tools on demand [default: the description's first sentence]."""
    example: ClassVar[dict[str, Any] | None] = None
    """Arguments for the example of a call [default: built from the schema]."""
    success_claim: ClassVar[tuple[str, str] | None] = None
    """The argument and value that claim that the earlier calls of the message succeeded."""
    editing_commands: ClassVar[frozenset[str]] = frozenset()
    """Values of `command` with which a call modifies a file rather than replacing it."""
    origin: str = Field("", exclude=True, repr=False)
    """The source of the description if it is untrusted."""
    raw_description: str = Field("", exclude=True, repr=False)
    """The untrusted description without its frame."""

    def resources(self, args: dict[str, Any]) -> frozenset[Resource]:  # noqa: ARG002
        """Return the resources of a call; calls that share one do not run concurrently.

        A call is not executed after an earlier one of its message has failed that shares one with
        it, apart from `EVERYTHING`.
        """
        return frozenset() if self.without_effect else frozenset({Resource(self.uses)})

    def read_only(self, args: dict[str, Any]) -> bool:  # noqa: ARG002
        """Return whether a call has no side effects, so that it may be repeated after a crash."""
        return self.without_effect

    def acts_outside(self, args: dict[str, Any]) -> bool:
        """Return whether a call has effects outside the workspace, which a rewind cannot take back.

        What its programs do does not count.
        """
        changed = [resource.name for resource in self.resources(args) if resource.write]
        return not all(f"{name}/".startswith(f"{WORKSPACE}/") for name in changed)

    def approval(self, args: dict[str, Any]) -> Approval:  # noqa: ARG002
        """Return why a call needs approval, and what rules and guards check. Blocking."""
        return Approval()

    def preview(self, args: dict[str, Any]) -> str:  # noqa: ARG002
        """Return the preview of a call for its approval; if empty, all arguments are shown."""
        return ""

    async def observe(self, *_: Any, **arguments: Any) -> Observation:
        """Execute one call with validated arguments."""
        raise NotImplementedError

    @override
    async def _arun(self, **arguments: Any) -> tuple[Any, Observation]:
        with exit_is_error():
            observation = await self.observe(**arguments)
        return observation.content(), observation

    @override
    def _run(self, **arguments: Any) -> tuple[Any, Observation]:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self._run_once(**arguments))
        raise ToolError(f"`{self.name}` is asynchronous: use `ainvoke` inside an event loop.")

    async def _run_once(self, **arguments: Any) -> tuple[Any, Observation]:
        """Execute a call in its own event loop, then close the shell or browser that it started."""
        try:
            return await self._arun(**arguments)
        finally:
            await self.session.release()


@contextmanager
def exit_is_error() -> Iterator[None]:
    """Convert `sys.exit()` in a tool to an error.

    LangChain runs a tool in a task, and a `SystemExit` in a task ends the event loop.
    """
    try:
        yield
    except SystemExit as error:
        raise ToolException(explain_exit(error)) from error


def explain_exit(error: SystemExit) -> str:
    """Return the error message for a tool that called `sys.exit()`."""
    return f"The tool tried to exit the program: SystemExit: {error}"


def wrap_exit(tool: BaseTool) -> BaseTool:
    """Return a copy of a tool in which `sys.exit()` is an error."""
    arun = tool._arun

    @functools.wraps(arun)
    async def contained_arun(*args: Any, **kwargs: Any) -> Any:
        with exit_is_error():
            return await arun(*args, **kwargs)

    shell = tool.model_copy()
    object.__setattr__(
        shell, "_run", exit_is_error()(tool._run)
    )  # pydantic refuses a plain assignment
    object.__setattr__(shell, "_arun", contained_arun)
    return shell


def find_needs(tool: BaseTool | None, args: dict[str, Any]) -> Needs:
    """Return the resources that a call uses; a foreign tool may use all of them.

    A call of a foreign tool runs alone, but other calls in its message do not depend on it, since
    its resources are unknown.
    """
    if tool is None:
        return Needs(frozenset())
    args, resources, read_only, _ = classify_call(tool, args)
    relies_on = frozenset(resource for resource in resources if resource.name != EVERYTHING)
    return Needs(resources, read_only, relies_on)


def classify_call(
    tool: BaseTool, args: dict[str, Any]
) -> tuple[dict[str, Any], frozenset[Resource], bool, bool]:
    """Return the tidied arguments of a call, its resources, `read_only` and `acts_outside`.

    A foreign tool may use and change everything; so may a call with invalid arguments, which its
    tool reports itself.
    """
    schema = tool.args_schema
    if isinstance(schema, type) and issubclass(schema, Arguments):
        args = schema.tidy(args)
    if isinstance(tool, AgentTool):
        try:
            read_only = tool.read_only(args)
            acts_outside = not read_only and tool.acts_outside(args)
            return args, tool.resources(args), read_only, acts_outside
        except _INVALID_ARGUMENTS:
            return args, frozenset({Resource(EVERYTHING), Resource(tool.uses)}), False, True
    return args, frozenset({Resource(EVERYTHING)}), False, True
