"""Read tool calls that a server has left in the text of a reply.

A server that does not know a model's template returns its calls as text. The dialects differ in
their marks and agree on the parts: a mark opens the call (a tag, a special token, a label), then
come a name and arguments, each as JSON, as elements or attributes, or as a Python call. The parts
are read in any order that leaves no doubt; nothing but calls may follow the first of them. Marks
in fences and in inline code are text.
"""

from __future__ import annotations

import ast
import html
import json
import re
from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

from manus.models.text_marks import (
    CALL_WORDS,
    FENCE,
    INLINE_CODE,
    MARK,
    WORDS,
    Json,
    ToolIndex,
    is_certain,
    starts_line,
)
from manus.models.text_values import convert, list_nodes, quote_keys
from manus.models.tool_calls import decode_json, parse_literal, repair_arguments

_NAME_KEYS = ("name", "tool_name", "function_name", "recipient_name", "tool", "function", "action")
_ARGUMENT_KEYS = (
    *("arguments", "parameters", "args", "params", "kwargs", "input"),
    *("tool_input", "tool_args", "action_input"),
)
_PARAMETER_WORDS = {"parameter", "param", "arg", "argument"}
_FILLERS = {"assistant", "commentary", "analysis", "json", "code", "function"}
"""Words between the marks of a call that are not its name."""

_ATTRIBUTE = re.compile(
    r"""(?:\b(?:name|(?:tool|function)(?:_?name)?)\s*=|^</?[\w:.-]+=)\s*["']?([^"'<>\s]+)"""
)
_ATTRIBUTES = re.compile(r"""\b(\w+)\s*=\s*(["'])(.*?)\2(?=[\s/>])""", re.S)
_LABEL_NAME = re.compile(r"[\w.:-]+")
_NAME = re.compile(r"(?:call:)?([\w.:/-]{1,64})")
_NAME_IN_JSON = re.compile(r"[\"'](?:tool_)?name[\"']\s*:\s*[\"']([\w.:-]{1,64})[\"']")
_PYTHON = re.compile(r"\[?\s*[A-Za-z_][\w.]*\s*\(")
_SPACE = re.compile(r"(?:[\s;,]|```\w*)*")
_ESCAPED = re.compile(r'(<escape>|<\|"\|>)(.*?)\1', re.S)
_PREFIX = re.compile(r"(</?)[|｜]\w+[|｜](?=\w)")
_ENDS_VALUE = re.compile(r"</|<[|｜](?!\")|\[|<\w+[|｜]>|<tool_call>")
_RESIDUE = re.compile(
    r"<\|(?:start|channel|constrain)\|>\w*|<\|\w+\|>|\Aassistant\Z"
    r"|(?:(?:assistant)?commentary|function call)\s*\Z"
)


class ReadCall(NamedTuple):
    """A call in a text; `arguments` are JSON, or a text that is not if they cannot be read."""

    name: str
    arguments: str


class TextCalls(NamedTuple):
    """What the text of a reply consists of."""

    text: str
    """The text without its calls."""
    calls: Sequence[ReadCall]
    is_unreadable: bool = False
    """Whether it contains the markup of a call from which no call can be read."""


def read_text_calls(text: str, tools: ToolIndex, *, may_continue: bool = False) -> TextCalls:
    """Return the calls at the end of a text.

    `may_continue`: text after a call, or between two, is allowed.
    """
    text = _PREFIX.sub(r"\1", text)
    code_spans = [match.span() for match in chain(FENCE.finditer(text), INLINE_CODE.finditer(text))]
    kept: list[str] = []
    calls: list[ReadCall] = []
    is_unreadable = False
    end = 0
    for opening in tools.opening.finditer(text):
        start = opening.start()
        is_in_code = any(first <= start < last for first, last in code_spans)
        if start < end or is_in_code or not tools.may_open(opening):
            continue
        reader = _Reader(text, start, tools, is_certain=is_certain(opening[0]))
        is_whole = reader.read()
        if reader.calls and (is_whole or (may_continue and reader.is_certain)):
            kept.append(text[end:start])
            calls += reader.calls
            end = reader.position
        elif reader.is_certain:
            is_unreadable |= _is_meant_as_call(text, opening) or bool(reader.calls)
    prose = "".join([*kept, text[end:]])
    if calls:
        prose = _RESIDUE.sub("", prose).strip()
    return TextCalls(prose, calls, is_unreadable and not calls)


def _is_meant_as_call(text: str, opening: re.Match[str]) -> bool:
    """Return whether a mark that starts no readable call stands for one, not for itself in prose.

    It does if structure ends the text, or if the mark starts a line and is a token, or structure
    follows it.
    """
    stripped = text.rstrip()
    is_marked_at_end = any(mark.end() == len(stripped) for mark in MARK.finditer(stripped))
    if stripped.endswith(("}", "]")) or is_marked_at_end:
        return True
    follows_structure = text[opening.end() :].lstrip()[:1] in ("", "{", "[", "<")
    return starts_line(opening) and (follows_structure or opening[0].startswith("<|"))


class _Reader:
    """Reads calls from a position in a text until something else follows."""

    def __init__(self, text: str, position: int, tools: ToolIndex, *, is_certain: bool) -> None:
        self.calls: list[ReadCall] = []
        self.position = position
        self._text = text
        self._tools = tools
        self.is_certain = is_certain
        """Whether the first mark has no other use than calls."""
        self._name = ""
        self._key = ""
        self._values: Json = {}

    def read(self) -> bool:
        """Return whether nothing but calls follows; their names must be offered in doubt."""
        while True:
            self.position = self._skip_space()
            if self.position >= len(self._text) or not self._read_part():
                break
        self._finish()
        is_offered = all(call.name in self._tools for call in self.calls)
        if not (self.is_certain or is_offered):
            self.calls = []
        return self._skip_space() >= len(self._text)

    def _skip_space(self) -> int:
        space = _SPACE.match(self._text, self.position)
        return space.end() if space else self.position

    def _read_part(self) -> bool:
        mark = MARK.match(self._text, self.position)
        if mark is not None and not _PYTHON.match(mark[0]):
            return self._read_mark(mark)
        if _PYTHON.match(self._text, self.position):
            return self._read_python()
        if self._text[self.position] in "{[":
            return self._read_value()
        return self._read_name()

    def _read_mark(self, mark: re.Match[str]) -> bool:
        """Read a mark, and what belongs to it."""
        text = mark[0].strip()
        label = _LABEL_NAME.search(text)
        element = label[0].rpartition(":")[2].lower() if label else ""
        words = set(WORDS.findall(element))
        self.position = mark.end()
        if text.startswith(("</", "<|/", "[/")) or {"end", "eot"} & words:
            self._finish()
            return True
        if "id" in words and not text.startswith("</"):
            self.position = self._next_mark()
            return True
        if not re.match(r"<\w", text) or text.endswith(("|>", "｜>")):
            return True
        attribute = _ATTRIBUTE.search(text)
        if words & _PARAMETER_WORDS and (self._name or attribute):
            return self._read_parameter(element, attribute)
        if attribute:
            self._start(attribute[1])
            self._read_attributes(text)
            return True
        return self._read_element(element, words)

    def _read_attributes(self, mark: str) -> None:
        """Read the arguments that stand beside the name in a tag, as JSON or one by one."""
        for key, _, value in _ATTRIBUTES.findall(mark):
            text = html.unescape(value)
            if key in self._properties():
                self._values[key] = convert(text, self._properties()[key])
            elif key in _ARGUMENT_KEYS:
                self._values |= repair_arguments(text) or {}

    def _read_parameter(self, element: str, attribute: re.Match[str] | None) -> bool:
        """Read an argument: its name is an attribute, or a separate element before its value."""
        if attribute:
            return self._read_argument(element, attribute[1])
        if element.endswith("key"):
            self._key = self._inner(element) or ""
            return bool(self._key)
        if element.endswith("value") and self._key:
            return self._read_argument(element, self._key)
        return True

    def _read_element(self, element: str, words: set[str]) -> bool:
        """Read an element without attributes: a name, an argument, or what contains them."""
        if element in _NAME_KEYS:
            end = self._text.find(f"</{element}", self.position)
            inner = self._text[self.position : end].strip()
            if end >= 0 and _LABEL_NAME.fullmatch(inner):
                self.position = self._after_closing(end)
                self._start(inner)
                return True
        if element in _ARGUMENT_KEYS and not (self._name and element in self._properties()):
            return True
        if element in self._tools and not self._name:
            self._start(element)
            return True
        if self._name and element in self._properties():
            return self._read_argument(element, element)
        if words & CALL_WORDS:
            return True
        if not self._name:
            return self.is_certain and self._inner(element) is not None
        return self._read_argument(element, element)

    def _read_argument(self, element: str, key: str) -> bool:
        """Read the value of an argument up to the closing tag of its element."""
        value = self._inner(element)
        if value is None:
            return self._fail()
        self._values[key] = convert(value, self._properties().get(key, {}))
        return True

    def _inner(self, element: str) -> str | None:
        closing = re.compile(rf"</(?:\w+:)?{re.escape(element)}\s*>", re.I)
        match = closing.search(self._text, self.position)
        if match is None:
            return None
        value = self._text[self.position : match.start()]
        self.position = match.end()
        return value

    def _read_value(self) -> bool:
        """Read JSON: calls, or the arguments of the name before it."""
        start = self.position
        try:
            value, self.position = decode_json(self._text, start)
        except ValueError:
            self.position = self._next_mark(start, closing=True)
            body = _ESCAPED.sub(lambda m: json.dumps(m[2]), self._text[start : self.position])
            value = repair_arguments(body) or repair_arguments(quote_keys(body))
            if value is None:
                return self._fail(body)
        if self._name and isinstance(value, dict):
            self._values = value
            self._finish()
            return True
        calls = self._calls_in(value)
        self.calls += calls
        return bool(calls)

    def _calls_in(self, value: Any) -> list[ReadCall]:
        """Return the calls that a JSON value stands for; nothing if any part is something else."""
        if isinstance(value, list):
            lists = [self._calls_in(item) for item in value]
            return [call for calls in lists for call in calls] if all(lists) else []
        if not isinstance(value, dict):
            return []
        for key in _NAME_KEYS:
            if isinstance(value.get(key), str):
                return self._parse_object(self._tools.clean_name(value[key]), value)
        for key, inner in value.items():
            if isinstance(inner, dict) and len(value) == 1 and key in self._tools:
                return [ReadCall(key, json.dumps(inner))]
            if set(WORDS.findall(key.lower())) & CALL_WORDS and (calls := self._calls_in(inner)):
                return calls
        return []

    def _parse_object(self, name: str, value: Json) -> list[ReadCall]:
        """Return the call of an object with a name; arguments may stand beside the name."""
        for key in _ARGUMENT_KEYS:
            if key in value and key not in self._tools.properties(name):
                arguments = value[key] or {}
                if isinstance(arguments, str):
                    return [ReadCall(name, arguments)]
                return (
                    [ReadCall(name, json.dumps(arguments))] if isinstance(arguments, dict) else []
                )
        rest = {key: v for key, v in value.items() if key not in (*_NAME_KEYS, "id", "type")}
        is_complete = bool(rest) and rest.keys() <= self._tools.properties(name).keys()
        return [ReadCall(name, json.dumps(rest))] if is_complete or self.is_certain else []

    def _read_python(self) -> bool:
        """Read calls in Python's notation, or a list of them, up to one of the next marks."""
        start = self.position
        end = start
        while end < len(self._text):
            end = self._next_mark(end + 1)
            body = self._text[start:end].strip()
            if body.endswith(")]") and not body.startswith("["):  # the label has opened a bracket
                body = body[:-1]
            try:
                tree = ast.parse(body)
                calls = [*map(self._python_call, list_nodes(tree))]
            except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
                continue
            self.calls += calls
            self.position = end
            return bool(calls)
        return self._read_name() if not self._text.startswith("[", start) else self._read_value()

    def _python_call(self, node: ast.expr) -> ReadCall:
        """Return the call of a node; raise a ValueError if it is none."""
        if not isinstance(node, ast.Call):
            raise ValueError("not a call")
        name = ast.unparse(node.func).removesuffix(".call")
        if name == "print" and len(node.args) == 1:
            return self._python_call(node.args[0])
        arguments = {str(keyword.arg): parse_literal(keyword.value) for keyword in node.keywords}
        if len(node.args) == 1 and not arguments:
            arguments = parse_literal(node.args[0])
        elif node.args:
            raise ValueError("the arguments have no names")
        if not isinstance(arguments, dict):
            raise ValueError("the argument has no name")
        return ReadCall(self._tools.clean_name(name), json.dumps(arguments))

    def _read_name(self) -> bool:
        """Read the name of a call, or a word that some dialects have before it."""
        match = _NAME.match(self._text, self.position)
        if match is None:
            return False
        following = self._text[match.end() :][:40].lstrip(" \t")
        is_filler = match[1] in _FILLERS and match[1] not in self._tools
        if is_filler or (self._name and match[1] in _FILLERS):
            self.position = match.end()
            return True
        is_ended = not following or following[0] in "{[\n`" or MARK.match(following)
        is_followed_by_filler = following.startswith(tuple(_FILLERS))
        name = self._tools.clean_name(match[1])
        if not (is_ended or is_followed_by_filler) or not (self.is_certain or name in self._tools):
            return False
        self.position = match.end()
        self._start(name)
        return True

    def _start(self, name: str) -> None:
        self._finish()
        self._name = self._tools.clean_name(name)

    def _finish(self) -> None:
        """Add the call whose name has been read."""
        if self._name:
            self.calls.append(ReadCall(self._name, json.dumps(self._values)))
        self._name = ""
        self._values = {}

    def _fail(self, body: str = "") -> bool:
        """Add the call as unreadable, if its name is known; it is reported like any other."""
        match = _NAME_IN_JSON.search(body)
        name = self._tools.clean_name(match[1]) if match else self._name
        self._name = ""
        self._values = {}
        if not (self.is_certain and name in self._tools):
            return False
        # the ellipsis keeps the body from being parsed as arguments in any notation
        self.calls.append(ReadCall(name, f"…{body or self._text[self.position :]}"))
        if not body:
            self.position = len(self._text)
        return True

    def _properties(self) -> Json:
        return self._tools.properties(self._name)

    def _next_mark(self, start: int | None = None, *, closing: bool = False) -> int:
        """Return where the next mark starts; `closing`: one that may end a call."""
        for mark in MARK.finditer(self._text, self.position if start is None else start):
            if not closing or _ENDS_VALUE.match(mark[0]):
                return mark.start()
        return len(self._text)

    def _after_closing(self, end: int) -> int:
        return self._text.find(">", end) + 1 or len(self._text)
