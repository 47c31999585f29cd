"""Read the values of arguments that a model has written into a text."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

from manus.state.text import read_json

_KEY_OR_STRING = re.compile(r'("(?:[^"\\]|\\.)*")|([A-Za-z_]\w*)(?=\s*:)')


def list_nodes(tree: ast.Module) -> list[ast.expr]:
    """Return the expressions of a program, and those in a list as well."""
    nodes: list[ast.expr] = []
    for statement in tree.body:
        if not isinstance(statement, ast.Expr):
            raise ValueError("not an expression")
        is_list = isinstance(statement.value, ast.List | ast.Tuple)
        nodes += statement.value.elts if is_list else [statement.value]  # type: ignore[attr-defined]
    return nodes


def quote_keys(text: str) -> str:
    """Return the text of an object with its keys in quotation marks."""
    return _KEY_OR_STRING.sub(lambda match: match[1] or f'"{match[2]}"', text)


def convert(text: str, schema: Any) -> Any:
    """Return the value of an argument that was written as text: a string unless it cannot be."""
    text = text.removeprefix("\n").removesuffix("\n")
    if not isinstance(schema, dict) or not schema or '"string"' in json.dumps(schema):
        return text
    try:
        return read_json(text.strip())
    except ValueError:
        return {"True": True, "False": False, "None": None}.get(text.strip(), text)
