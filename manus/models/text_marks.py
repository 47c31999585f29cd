"""Find the marks with which models write tool calls into a text.

A mark is a tag, a special token, a name in brackets or a label. Dialects:
docs.vllm.ai/en/latest/features/tool_calling, and the parsers of SGLang and llama.cpp.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

Json = dict[str, Any]

CALL_WORDS = {"tool", "tools", "toolcall", "toolcalls", "function", "functions", "invoke"}
CALL_WORDS |= {"call", "calls", "action", "actions", "functioncall"}
"""Words in the names of marks, and in keys of JSON, that contain calls."""
WORDS = re.compile(r"[a-z]+")
FENCE = re.compile(r"^[ \t]*(```+|~~~+).*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.M | re.S)
INLINE_CODE = re.compile(r"(`+)[^`\n]+\1")
_TOKEN = r"<[|｜][^<>\n]{1,100}>|<[^<>\n|｜]{1,80}[|｜]>"
_TAG = r"</?[a-z_][^<>\n]{0,200}>"
_BRACKETED = r"\[/?[A-Z][A-Z_]{2,30}\]"
_RECIPIENT = r"(?<![\w.=])to=(?=\w)"
_LABEL = (
    r"^[ \t]*(?:>>>|functools(?=\[)|✿\w+✿:|(?:(?:action )?input|action|arguments|parameters"
    r"|\[?(?:calling )?(?:tool|function)(?: call)?):)"
)
MARK = re.compile(rf"{_TOKEN}|{_TAG}|(?-i:{_BRACKETED})|{_RECIPIENT}|{_LABEL}", re.I | re.M)
_CERTAIN = re.compile(
    r"<[^>]*(?:tool|function)[\s_▁-]*(?:call|use|request|code)|<use_|<(?:\w+:)?invoke\b|<function="
    r"|<[|｜][^>]*(?:tool|function|action|python|plugin|recipient|call\|)|\[TOOL_|^to=",
    re.I,
)
_BARE_CALL = r"^[ \t]*(?=\{\s*[\"']|\[\s*\{|\[?(?:NAMES)[ \t]*(?:\(|\n\s*\{))"
_LABELS = (
    "action input:",
    "tool call:",
    "function call:",
    "arguments:",
    "parameters:",
    "functools[",
    "calling tool:",
    "calling function:",
    "[calling tool:",
    "[calling function:",
    "[tool call:",
    "[function call:",
)
_MAY_OPEN = re.compile(r"^[ \t]*[\[{>✿]|<[^<>\n]{0,80}$|\[[A-Z_]*$|\bt(?:o=?)?$")
"""The end of a line in which a mark may begin."""
_LONGEST_MARK = 256
_LONG_LINE = 4_000
"""Characters."""
_NAMESPACE = re.compile(r"^(?:functions?|tools|default_api)[.:]")


def is_certain(mark: str) -> bool:
    """Return whether a mark has no other use than calls."""
    return bool(_CERTAIN.search(mark))


def starts_line(match: re.Match[str]) -> bool:
    """Return whether nothing but white space precedes a match in its line."""
    line_start = match.string.rfind("\n", 0, match.start()) + 1
    return not match.string[line_start : match.start()].strip()


class ToolIndex:
    """The tools of a request, by name."""

    def __init__(self, tools: Sequence[Mapping[str, Any]]) -> None:
        functions = [tool["function"] for tool in tools if "function" in tool]
        self._schemas = {f["name"].lower(): f.get("parameters") or {} for f in functions}
        names = "|".join(map(re.escape, self._schemas)) or r"(?!)"
        self.opening = re.compile(
            f"(?:{MARK.pattern})|{_BARE_CALL.replace('NAMES', names)}", re.I | re.M
        )
        """The places where a call may start."""

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._schemas

    def may_open(self, opening: re.Match[str]) -> bool:
        """Return whether a call may start here: marks with other uses count where a line starts."""
        mark = opening[0]
        if is_certain(mark) or mark.startswith("<|"):
            return True
        words = {*WORDS.findall(mark.lower())}
        is_known = not mark.startswith("<") or bool(words & CALL_WORDS) or mark.strip("<>") in self
        return is_known and starts_line(opening)

    def may_start(self, text: str) -> bool:
        """Return whether a line that begins like this may become a label, or the name of a tool."""
        return any(start.startswith(text) for start in (*_LABELS, *self._schemas))

    def properties(self, name: str) -> Json:
        """Return the schemas of a tool's arguments; empty for an unknown tool."""
        properties = self._schemas.get(name.lower(), {}).get("properties")
        return properties if isinstance(properties, dict) else {}

    def clean_name(self, name: str) -> str:
        """Return the name of a tool without a namespace or a number of the call."""
        if name in self:
            return name
        return re.sub(r":\d+$", "", _NAMESPACE.sub("", name))


class TextHolder:
    """Holds back streamed text from the point where a call may begin."""

    def __init__(self, tools: ToolIndex) -> None:
        self._tools = tools
        self._line = ""
        self._released = 0
        """Characters of the current line that are released."""
        self._is_in_fence = False
        self._is_holding = False

    def feed(self, chunk: str) -> str:
        """Return the text that is final after this chunk."""
        self._line += chunk
        released = []
        while not self._is_holding:
            line, newline, rest = self._line.partition("\n")
            released.append(self._release(line + newline, is_whole=bool(newline)))
            if not newline or self._is_holding:
                break
            self._is_in_fence ^= line.lstrip().startswith(("```", "~~~"))
            self._line = rest
            self._released = 0
        if self._released > _LONG_LINE and not self._is_holding:
            # what is read again with each chunk stays short; the letter keeps it in mid-line
            start = self._released - _LONGEST_MARK
            self._line = f"x{self._line[start:]}"
            self._released = _LONGEST_MARK + 1
        return "".join(released)

    def end(self) -> str:
        """Return the text that was held back."""
        return self._line[self._released :]

    def _release(self, line: str, *, is_whole: bool) -> str:
        start = self._released
        self._released = len(line)
        if self._is_in_fence:
            return line[start:]
        partial = None if is_whole else _MAY_OPEN.search(line)
        hold_at = partial.start() if partial else len(line)
        if not is_whole and self._tools.may_start(line.strip().lower()):
            hold_at = 0
        code = [match.span() for match in INLINE_CODE.finditer(line)]
        for opening in self._tools.opening.finditer(line, max(0, start - _LONGEST_MARK)):
            position = opening.start()
            is_in_code = any(first <= position < last for first, last in code)
            if is_in_code or not self._tools.may_open(opening):
                continue
            # an odd number of backticks: the line may go on as inline code
            self._is_holding = is_whole or line.count("`", 0, position) % 2 == 0
            hold_at = min(hold_at, position)
            break
        if is_whole and line.strip() in self._tools:  # arguments may follow
            self._is_holding = True
            hold_at = 0
        self._released = max(start, hold_at)
        return line[start : self._released]
