"""The base of our tools: one that belongs to a session, its arguments, what is wrong with them."""

from __future__ import annotations

import asyncio
import difflib
import functools
import glob
import re
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import UnionType
from typing import Any, ClassVar, Literal, TypeGuard, Union, cast, get_args, get_origin

from langchain_core.tools import BaseTool, ToolException
from pydantic import BaseModel, Field, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from typing_extensions import override

from manus.execution.egress_guard import Access
from manus.execution.result import Observation
from manus.execution.session import EVERYTHING, Resource, Session
from manus.state.errors import ToolError
from manus.state.text import read_json

_SAME = (
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
"""Names that models use for the same thing."""
_SHOWN = 10
"""Problems named at most."""


class Arguments(BaseModel, extra="forbid"):
    """Base of argument schemas: an argument nobody knows is said to the model, not dropped."""

    @classmethod
    def tidy(cls, given: Any) -> Any:
        """Arguments under our names, where another name can mean only one of them.

        A list or an object that comes as JSON in a string, as some models write it, is unpacked; a
        null where none may be counts as not given.
        """
        if not isinstance(given, dict):
            return given
        fields = cls.model_fields
        tidied = {}
        for other, value in given.items():
            name = other if other in fields else _meant(other, fields, given)
            field = fields.get(name)
            if field is not None and value is None and _cannot_be_null(field):
                continue
            if field is not None and isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
                value = _unpacked(field, value)
            tidied[name] = value
        return tidied

    _ = model_validator(mode="before")(tidy)


def _cannot_be_null(field: FieldInfo) -> bool:
    """Whether a null for a field can only mean its default."""
    may_be = field.annotation is Any or type(None) in get_args(field.annotation)
    return not (may_be or field.is_required())


def _meant(name: str, fields: Iterable[str], given: Mapping[str, Any]) -> str:
    unknown = [other for other in given if other not in fields]
    free = {field for field in fields if field not in given}
    of = {group for group in _SAME if name in group}
    found = {field for group in of for field in group if field in free}
    rivals = [other for other in unknown if any(other in group for group in of)]
    return found.pop() if len(found) == 1 and rivals == [name] else name


def _unpacked(field: FieldInfo, value: str) -> Any:
    wanted = field.annotation
    kinds = get_args(wanted) if get_origin(wanted) in (Union, UnionType) else (wanted,)
    taken = {get_origin(kind) or kind for kind in kinds}
    many = [kind for kind in taken if isinstance(kind, type)]
    if taken & {str, Any} or not any(issubclass(kind, list | dict | BaseModel) for kind in many):
        return value
    try:
        return read_json(value)
    except ValueError:
        return value  # the schema says what is wrong with it


def explain_arguments(tool: BaseTool, error: ValidationError) -> str:
    """What was wrong with the arguments of a call, one line each, and what the tool takes."""
    taken = cast("type[BaseModel]", tool.tool_call_schema)  # without what is injected
    problems = [_problem(details, taken) for details in error.errors(include_url=False)[:_SHOWN]]
    if len(problems) == 1 and problems[0].endswith("?"):  # it says already what would be right
        return f"The arguments do not fit `{tool.name}`: {problems[0]}"
    wrong = "\n".join(f"- {problem}" for problem in problems)
    return f"The arguments do not fit `{tool.name}`:\n{wrong}\nIt takes: {_names(taken)}."


def _problem(details: ErrorDetails, taken: type[BaseModel]) -> str:
    """One of them in pydantic's words, and which name or choice may have been meant."""
    where, given = details["loc"], details["input"]
    known: list[str] = []
    place = f"`{'.'.join(map(str, where)) or 'arguments'}`"
    said = f"{place}: {details['msg']}"
    if details["type"] == "extra_forbidden":
        given, known = where[-1], list(taken.model_fields)
    elif details["type"] != "missing":
        said += f" (got {reprlib.repr(given)})"
    if details["type"] == "literal_error":
        known = re.findall(r"\w+", details["ctx"]["expected"])
    word = str(given)[:60].lower()
    near = [name for name in known if name.startswith(f"{word}_")]
    if details["type"] == "extra_forbidden":
        near += [name for name in known if name.endswith(f"_{word}")]
    near += difflib.get_close_matches(word, known, n=1, cutoff=0.75)
    if near and details["type"] == "literal_error":  # all choices are in the schema
        said = f"{place}: there is no {reprlib.repr(given)}"
    return f"{said}; did you mean `{near[0]}`?" if near else said


def is_model(kind: Any) -> TypeGuard[type[BaseModel]]:
    """Whether a type is a pydantic model."""
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _names(taken: type[BaseModel]) -> str:
    """What a schema takes, `?` at what may be left out; what an object takes behind its name."""
    named = []
    for name, field in taken.model_fields.items():
        inner = field.annotation
        of = f" ({_names(inner)})" if is_model(inner) else ""
        named.append(f"`{field.alias or name}{'' if field.is_required() else '?'}`{of}")
    return ", ".join(named) or "no arguments"


class AgentTool(BaseTool):
    """A tool of one session.

    A subclass gives `name`, `description` and `args_schema` (with a description for each argument)
    and implements `observe`, which returns an `Observation` or raises `ToolError` with a sentence
    that says what was wrong and what would be right.
    """

    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    session: Session = Field(exclude=True, repr=False)
    time_limit: ClassVar[float] = 900.0
    """Seconds after which a call is cancelled from outside, whatever its own limit."""
    channels: ClassVar[frozenset[str]] = frozenset()
    """Channels of the state, beside the messages, that a call may change."""
    uses: ClassVar[str] = EVERYTHING
    """The one resource that each call uses and may change; else see `resources`."""
    without_effect: ClassVar[bool] = False
    """Whether no call uses or changes anything that another might."""

    def resources(self, args: dict[str, Any]) -> frozenset[Resource]:  # noqa: ARG002
        """What a call uses; calls that use the same do not run side by side."""
        return frozenset() if self.without_effect else frozenset({Resource(self.uses)})

    def relies_on(self, args: dict[str, Any]) -> frozenset[Resource]:
        """Return the resources that a call expects as the earlier calls of its message leave them.

        It is not executed after one of those has failed.
        """
        return frozenset(r for r in self.resources(args) if r.name != EVERYTHING)

    def read_only(self, args: dict[str, Any]) -> bool:  # noqa: ARG002
        """Whether a call may be carried out again after a crash because it changes nothing."""
        return self.without_effect

    def builds_on_file(self, args: dict[str, Any]) -> bool:  # noqa: ARG002
        """Return whether a call changes what its file holds then, and does not write it anew."""
        return False

    def leaves(self, args: dict[str, Any]) -> str:  # noqa: ARG002
        """Why a call reaches beyond workspace and sandbox; empty if it does not. Blocking."""
        return ""

    def changes_repository(self, args: dict[str, Any]) -> bool:  # noqa: ARG002
        """Return whether a call plainly changes a git repository. Blocking."""
        return False

    def subjects(self, args: dict[str, Any]) -> tuple[str, ...]:  # noqa: ARG002
        """What rules about calls fit their patterns to, such as a path or a host. Blocking."""
        return ()

    def accesses(self, args: dict[str, Any]) -> tuple[Access, ...]:  # noqa: ARG002
        """Return the hosts to which a call itself sends what the model made up. Blocking."""
        return ()

    def allowed_subjects(self, args: dict[str, Any]) -> tuple[str, ...] | None:
        """Return what rules that allow a call have to cover, all of it. Blocking.

        None if the call is none that a rule with a pattern can describe.
        """
        return self.subjects(args)

    def scope(self, subject: str) -> str:
        """The pattern of the subjects for which the approval of this one may hold."""
        return glob.escape(subject)

    def preview(self, args: dict[str, Any]) -> str:  # noqa: ARG002
        """What a person sees of a call that they are to approve; all arguments if empty."""
        return ""

    async def observe(self, *_: Any, **arguments: Any) -> Observation:
        """Carry out one call with validated arguments."""
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
            return asyncio.run(self._once(**arguments))
        raise ToolError(f"`{self.name}` is asynchronous: use `ainvoke` inside an event loop.")

    async def _once(self, **arguments: Any) -> tuple[Any, Observation]:
        """A call on a loop of its own, with which a shell or a browser that it began must end."""
        try:
            return await self._arun(**arguments)
        finally:
            await self.session.release()


@contextmanager
def exit_is_error() -> Iterator[None]:
    """Make an error of `sys.exit()` in a tool.

    LangChain runs a tool in a task, and asyncio ends the event loop where a `SystemExit` comes out
    of one.
    """
    try:
        yield
    except SystemExit as error:
        raise ToolException(f"The tool tried to end the program: SystemExit: {error}") from error


def contained(tool: BaseTool) -> BaseTool:
    """The tool with `sys.exit()` in what it runs made an error."""
    arun = tool._arun

    @functools.wraps(arun)
    async def contained_arun(*args: Any, **kwargs: Any) -> Any:
        with exit_is_error():
            return await arun(*args, **kwargs)

    shell = tool.model_copy()
    object.__setattr__(shell, "_run", exit_is_error()(tool._run))  # pydantic refuses it otherwise
    object.__setattr__(shell, "_arun", contained_arun)
    return shell
