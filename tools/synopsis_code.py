"""A text that is source code: its classes and functions with their lines."""

from __future__ import annotations

import ast
import re
import threading
import warnings
from collections.abc import Iterator
from typing import NamedTuple

_LOOKED = 2 * 2**20
"""Characters that are read; of a longer text its beginning."""
_PARSED = 2**20
"""Characters that are parsed at most, as Python is where it can be."""
_LINES = 40
_FEWEST = 4
"""Lines, and definitions among them, that there must be."""
_NUMBERED = re.compile(r" *(\d+)(?:\t|: ?|  )")
_DECIDED = ("PHP", "C or C++")
"""Languages that their evidence alone tells for certain."""
_WIDEST = 300
"""Characters of a line on average from which on code is minified: a line holds much of it."""
_SPARSE = 150
"""Lines for each definition beyond which a text only quotes code."""
_OTHERWISE = ("diff --git", "commit ", "--- ", "Index: ", "<!DOCTYPE", "<html")
"""Beginnings of texts that hold pieces of code and are none."""

# Filters of warnings belong to the process: two parsers at once would restore each other's.
_parsing = threading.Lock()


class Language(NamedTuple):
    """How a language shows."""

    name: str
    evidence: re.Pattern[str]
    """What stands in every text of some length in it, and hardly in another."""
    definition: re.Pattern[str]


def _language(name: str, evidence: str, definition: str) -> Language:
    return Language(name, re.compile(evidence, re.M), re.compile(f"^{definition}", re.M))


_BY = r"(?:(?:public|private|protected|internal|static|final|abstract|sealed|open|data|override|"
_MORE = r"async|virtual|synchronized|default|partial|readonly|suspend|inline) )"
_LANGUAGES = (
    _language("PHP", r"^<\?php", rf"[ \t]*{_BY}{_MORE}*(?:function|class|interface|trait) \w+"),
    _language("Go", r"^package \w+[ \t]*$", r"(?:func [\w(]|type \w+ (?:struct|interface))"),
    _language(
        "Rust",
        r"^[ \t]*(?:pub )?(?:use [\w:]+|let (?:mut )?\w+|mod \w+)[^\n]*;[ \t]*$",
        r"[ \t]*(?:pub(?:\([^)\n]*\))? )?(?:async |unsafe |const )*"
        r"(?:fn \w|struct \w|enum \w|trait \w|impl[ <]|mod \w+ \{)",
    ),
    _language(
        "C or C++",
        r"^[ \t]*#[ \t]*include [<\"]",
        r"(?:(?:typedef )?(?:struct|class|enum|union|namespace) \w+[^;\n]*$"
        r"|(?!return|else|if|for|while|switch)[A-Za-z_][\w:<>,*& ]{0,80}[ *&][\w:~]{1,80}"
        r"\([^;{}\n]{0,200}\{?[ \t]*$)",
    ),
    _language(
        "Python",
        r"^(?:from [\w.]+ import |import \w)",
        r"[ \t]*(?:(?:async )?def \w+\(|class \w+[^\n]*:)",
    ),
    _language(
        "Java, Kotlin or C#",
        r"^(?:(?:package|import|using) [\w.* ]+;|(?:package|namespace) [\w.]+\r?$)",
        rf"[ \t]*(?:{_BY}{_MORE}*(?:class|interface|enum|record|object|fun) \w+"
        rf"|{_BY}{_MORE}+[\w<>\[\],.? ]{1, 120}\([^;\n]*$)",
    ),
    _language(
        "JavaScript or TypeScript",
        r"^[ \t]*(?:(?:const|let|var) [\w{ [].*=|import .* from ['\"]|module\.exports)",
        r"[ \t]*(?:export )?(?:default )?(?:declare )?(?:(?:abstract )?class \w+"
        r"|(?:async )?function\*? ?\w+|interface \w+|enum \w+|type \w+[^=\n]*="
        r"|(?:const|let|var) \w+ = (?:async )?(?:\([^)\n]*\)|\w+) =>)",
    ),
    _language("Ruby", r"^[ \t]*end[ \t]*$", r"[ \t]*(?:def|class|module) [\w.:]+[^:{\n]*$"),
    _language("Shell", r"\A#!\S*(?:/| )(?:ba|z|k|da)?sh\b", r"(?:function )?[\w-]+ ?\(\) *\{"),
    _language(
        "SQL",
        r"\);[ \t]*$",
        r"(?i:create (?:or replace )?(?:unique )?(?:table|view|index|function|procedure|trigger) )",
    ),
)


class Definition(NamedTuple):
    """A class or a function: the number of its line, and the line."""

    line: int
    text: str


def code_outline(text: str, room: int) -> list[str]:
    """The outline of a text that is source code; nothing if it is not."""
    if text.startswith(_OTHERWISE) or text.count("\n") < max(_LINES, len(text) // _WIDEST):
        return []
    part = text if len(text) <= _LOOKED else text[: text.rfind("\n", 0, _LOOKED)]
    code, first = without_numbers(part.replace("\r\n", "\n"))
    python = python_outline(code) if len(code) <= _PARSED else []
    name, found = ("Python", python) if python else by_pattern(code)
    if len(found) < _FEWEST or len(found) * _SPARSE < part.count("\n"):
        return []
    lines = text.count("\n") + (not text.endswith("\n"))
    title = f"{name}: {lines:,} lines, {len(found):,} classes, functions and the like, by line"
    title += f", in the first {part.count(chr(10)):,} lines" if len(part) < len(text) else ""
    width = len(str(found[-1].line + first))
    if sum(len(d.text) + width + 4 for d in found) + len(title) > room:
        outer = [d for d in found if not d.text.startswith(" ")]
        if 0 < len(outer) < len(found):
            title, found = f"{title}; those inside others left out", outer
    return [title, *(f"  {d.line + first - 1:{width}} {d.text}" for d in found)]


def without_numbers(text: str) -> tuple[str, int]:
    """The text without the numbers before its lines, and the number of its first line."""
    lines = text.split("\n")
    found = [_NUMBERED.match(line) for line in lines if line.strip()]
    numbers = [int(one[1]) for one in found if one is not None]
    first = numbers[0] if numbers else 1
    if not numbers or len(numbers) < len(found) or numbers[-1] - first >= len(lines):
        return text, 1
    return "\n".join(_NUMBERED.sub("", line, count=1) for line in lines), first


def python_outline(code: str) -> list[Definition]:
    """Classes and functions of Python code; nothing if it is none."""
    with _parsing, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return []
    return list(_definitions(tree, ""))


def _definitions(node: ast.AST, indent: str) -> Iterator[Definition]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            bases = ", ".join(map(ast.unparse, child.bases))
            yield Definition(
                child.lineno, f"{indent}class {child.name}" + (f"({bases})" if bases else "")
            )
            yield from _definitions(child, f"{indent}  ")
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            kind = "async def" if isinstance(child, ast.AsyncFunctionDef) else "def"
            names = ", ".join(a.arg for a in (*child.args.posonlyargs, *child.args.args))
            yield Definition(child.lineno, f"{indent}{kind} {child.name}({names})")
        elif isinstance(child, ast.If | ast.Try | ast.With):
            yield from _definitions(child, indent)


def by_pattern(code: str) -> tuple[str, list[Definition]]:
    """The language in which the most definitions are found, and these."""
    best: tuple[str, list[Definition]] = ("", [])
    for language in _LANGUAGES:
        if language.evidence.search(code) is None:
            continue
        found = list(_matches(language, code))
        if language.name in _DECIDED:
            return language.name, found
        if len(found) > len(best[1]):
            best = (language.name, found)
    return best


def _matches(language: Language, code: str) -> Iterator[Definition]:
    line = place = 0
    for match in language.definition.finditer(code):
        line += code.count("\n", place, match.start())
        place = match.start()
        end = code.find("\n", match.start())
        text = code[match.start() : end if end >= 0 else None].rstrip(" \r\t{")
        yield Definition(line + 1, text.replace("\t", "  "))
