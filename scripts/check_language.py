"""Measure how readable the package is, and fail if a figure is above its limit.

    python scripts/check_language.py [--list] [FILE OR FOLDER ...]

Counted by syntax tree: names that are bare participles or pronouns and so do not describe their
value, functions named `x_of` instead of a verb, tuples assigned to tuples, conditional
expressions, comprehensions. The last three are counted per 1,000 lines that are neither blank nor
comment nor docstring. `--list` names each place.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeGuard

ODD_NAMES = frozenset(
    [
        "asked",
        "became",
        "become",
        "began",
        "begun",
        "brought",
        "came",
        "chosen",
        "closed",
        "done",
        "drawn",
        "ended",
        "felt",
        "found",
        "given",
        "gone",
        "got",
        "heard",
        "held",
        "how",
        "it",
        "kept",
        "known",
        "left",
        "lost",
        "made",
        "meant",
        "met",
        "more",
        "named",
        "of",
        "one",
        "opened",
        "others",
        "paid",
        "put",
        "said",
        "seen",
        "sent",
        "shown",
        "taken",
        "them",
        "there",
        "they",
        "thought",
        "told",
        "wanted",
        "way",
        "ways",
        "what",
        "whole",
        "written",
    ]
)
_CHECKPOINT = "a key of the state, which stored checkpoints have"
_EVENT = "a field of a streamed event"
EXCEPTIONS: dict[str, str] = {
    "manus/state/agent.py:shown": _CHECKPOINT,
    "manus/state/agent.py:what": _CHECKPOINT,
    "manus/state/agent.py:began": _CHECKPOINT,
    "manus/state/agent.py:named": _CHECKPOINT,
    "manus/state/events.py:left": _EVENT,
    "manus/state/events.py:what": _EVENT,
    "manus/state/flow.py:began": _CHECKPOINT,
    "manus/state/flow.py:asked": _CHECKPOINT,
    "manus/state/plan.py:began": _CHECKPOINT,
    "manus/state/plan_changes.py:began": _CHECKPOINT,
}
"""Odd names that are appropriate in a file, as `path:name`, with the reason."""

LIMITS = {
    "odd names in %": 1.0,
    "named x_of": 0.0,
    "packed": 1.6,
    "conditional": 30.0,
    "comprehensions": 32.0,
}
_VERB_OF = re.compile("_?(is|test|warn)_")
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LAYOUT = (tokenize.NL, tokenize.COMMENT, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)


@dataclass
class Counts:
    """What was counted in some files."""

    lines: int = 0
    names: int = 0
    places: dict[str, list[str]] = field(default_factory=lambda: {kind: [] for kind in LIMITS})
    odd: Counter[str] = field(default_factory=Counter)

    def share(self, kind: str) -> float:
        """Return the percentage of odd names, or the number of a construct per 1,000 lines."""
        number = len(self.places[kind])
        if kind == "odd names in %":
            return 100 * number / max(self.names, 1)
        return 1000 * number / max(self.lines, 1)


def count_file(path: Path, counts: Counts) -> None:
    """Add the counts of a file."""
    source = path.read_text("utf-8")
    tree = ast.parse(source)
    counts.lines += _count_lines(source, tree)
    for node in ast.walk(tree):
        name = _bound_name(node)
        if name is not None:
            counts.names += 1
            if name in ODD_NAMES and f"{path}:{name}" not in EXCEPTIONS:
                counts.odd[name] += 1
                counts.places["odd names in %"].append(f"{path}:{_line(node)} {name}")
        if _is_named_of(node):
            counts.places["named x_of"].append(f"{path}:{_line(node)} {node.name}")
        kind = _density_kind(node)
        if kind is not None:
            counts.places[kind].append(f"{path}:{_line(node)} {kind}")


def _bound_name(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id.strip("_")
    if isinstance(node, ast.arg):
        return node.arg.strip("_")
    return None


def _is_named_of(node: ast.AST) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Return whether a function is named `owner_of`; `warn_of` and a question are verbs."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    return node.name.endswith("_of") and not _VERB_OF.match(node.name)


def _density_kind(node: ast.AST) -> str | None:
    if isinstance(node, ast.IfExp):
        return "conditional"
    if isinstance(node, _COMPREHENSIONS):
        return "comprehensions"
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
        return "packed" if isinstance(node.targets[0], ast.Tuple) else None
    return None


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)


def _count_lines(source: str, tree: ast.Module) -> int:
    """Count the lines that are not blank, a comment or part of a docstring."""
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in (*_LAYOUT, tokenize.ENDMARKER):
            code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if is_text and isinstance(node.value.value, str):
            code.difference_update(range(node.lineno, node.end_lineno + 1))
    return len(code)


def _files(arguments: list[str]) -> Iterator[Path]:
    for argument in arguments:
        path = Path(argument)
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]


def main() -> int:
    """Print the figures; return 1 if one exceeds its limit."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="name each place")
    parser.add_argument("paths", nargs="*", default=["manus"], help="default: the package")
    options = parser.parse_args()
    counts = Counts()
    for path in _files(options.paths):
        count_file(path, counts)
    code = 0
    for kind, limit in LIMITS.items():
        share = counts.share(kind)
        is_above = share > limit
        code = 1 if is_above else code
        mark = " <- above the limit" if is_above else ""
        print(f"{kind}: {len(counts.places[kind])}, {share:.1f} (limit {limit:g}){mark}")
        if options.list:
            print(*counts.places[kind], sep="\n")
    if counts.odd:
        print("most frequent:", ", ".join(f"{word} {n}" for word, n in counts.odd.most_common(12)))
    return code


if __name__ == "__main__":
    sys.exit(main())
