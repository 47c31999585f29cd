"""Reading arguments that are not a JSON object, where only one reading of them exists."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Mapping
from typing import Any, NoReturn

from manus.models.json_numbers import finite, whole
from manus.models.repair_quotes import typographic

_FENCE = re.compile(r"^```[a-zA-Z0-9]*\s*\n(.*)\n?```$", re.DOTALL)
_WORDS = {"true": True, "false": False, "null": None}
# Escapes that JSON and Python read alike. `\/` and `\d` have one meaning in each, and not the same.
_OTHER_ESCAPE = re.compile(r"""\\(?!["'\\nrtbf]|u[0-9a-fA-F]{4})""")
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


_MORE = re.compile(r"""[{\["“”„«»｛［]|[:：,，].*[}\]｝］]""", re.DOTALL)
"""Behind arguments: what may be more of them."""
_OPENINGS = ("{", "[", "｛", "［")
_CONTROLS = str.maketrans({"\n": "\\n", "\r": "\\r", "\t": "\\t"})


class NotOneReading(ValueError):  # noqa: N818 - it says what is wrong, as StopIteration does
    """The text has no reading, or more than one."""


def read_arguments(text: str, schema: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """The arguments that a text means, and what had to be forgiven.

    Raises:
        NotOneReading: it is cut off, or could mean more than one thing.
    """
    bare = text.strip().removeprefix("\ufeff")
    if fenced := _FENCE.match(bare):
        bare = fenced[1].strip()
    for read, how in (
        (_json, "the arguments were in a code fence"),
        (_followed, "text after the arguments was left out"),
        (_python, "Python's notation was read as JSON"),
        (_typographic, "typographic quotes and signs were read as JSON's"),
    ):
        try:
            found = read(bare, schema)
        except (ValueError, SyntaxError, RecursionError, MemoryError, tokenize.TokenError):
            continue
        return found if isinstance(found, tuple) else _as_object(found, schema, how)
    raise NotOneReading(text)


def _typographic(text: str, schema: Mapping[str, Any]) -> Any:  # noqa: ARG001
    return typographic(text)


def _json(text: str, schema: Mapping[str, Any]) -> Any:  # noqa: ARG001 - one signature for all
    return arguments_in(text)


def arguments_in(text: str) -> Any:
    """The JSON value of a text.

    Raises:
        ValueError: it is none, or could mean more than one thing.
    """
    return json.loads(
        text,
        strict=False,
        parse_constant=_refused,
        parse_float=finite,
        parse_int=whole,
        object_pairs_hook=_without_doubles,
    )


def _refused(constant: str) -> NoReturn:
    raise NotOneReading(constant)


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise NotOneReading("a name stands there twice")
    return found


def _followed(text: str, schema: Mapping[str, Any]) -> Any:  # noqa: ARG001
    """An object with something behind it that cannot be arguments: words, a bracket too many."""
    if not text.startswith("{"):
        raise NotOneReading(text)
    decoder = json.JSONDecoder(
        strict=False,
        parse_constant=_refused,
        parse_float=finite,
        parse_int=whole,
        object_pairs_hook=_without_doubles,
    )
    found, end = decoder.raw_decode(text)
    rest = text[end:].strip()
    behind = _objects(decoder, rest)
    if not found and len(behind) == 1 and behind[0] and isinstance(behind[0], dict):
        # gateways that begin with what there was at first
        return behind[0], "an empty object before the arguments was left out"
    again = rest and all(part == found for part in behind)
    if not again and (rest.startswith((",", "，")) or _MORE.search(rest)):
        raise NotOneReading(text)  # more arguments, or another call
    in_list = "]" in rest and any(isinstance(value, dict | list) for value in found.values())
    if in_list or (rest.startswith("}") and _may_end_elsewhere(found)):
        raise NotOneReading(text)  # another of its brackets may be the one too many
    return found


def _may_end_elsewhere(value: Any) -> bool:
    """Whether something stands behind a list or an object in it, and could belong inside."""
    inside = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(inside, list):
        return False
    followed = any(isinstance(one, dict | list) for one in inside[:-1])
    return followed or any(map(_may_end_elsewhere, inside))


def _objects(decoder: json.JSONDecoder, text: str) -> list[Any]:
    """The JSON values of a text that consists of nothing else; a text with other things itself."""
    found: list[Any] = []
    while text:
        try:
            value, end = decoder.raw_decode(text)
        except ValueError:
            return [text]
        found.append(value)
        text = text[end:].strip(" \t\r\n,;")
    return found


def _python(text: str, schema: Mapping[str, Any]) -> Any:
    if not text.startswith(("{", "[")) or _OTHER_ESCAPE.search(text):
        raise NotOneReading(text)
    names = set(schema.get("properties", {}))
    try:
        return _literal(text, names)
    except (SyntaxError, tokenize.TokenError):
        # with control characters in its texts; where they stand between them it is no literal
        return _literal(text.translate(_CONTROLS), names)


def _literal(text: str, names: set[str]) -> Any:
    _check_tokens(text)
    body = ast.parse(text, mode="eval").body
    if isinstance(body, ast.Tuple):
        raise NotOneReading(text)  # without brackets: more is to come
    return _value(body, names)


def _check_tokens(text: str) -> None:
    """Two texts side by side are one in Python; here they are a quote that was not escaped."""
    before = tokenize.ENCODING
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        strings = token.type == tokenize.STRING
        if token.type == tokenize.COMMENT or (strings and before == tokenize.STRING):
            raise NotOneReading(text)
        if strings and token.string[0] not in "\"'":
            raise NotOneReading(text)  # a prefix: bytes, raw or formatted text
        if token.type not in (tokenize.NL, tokenize.NEWLINE):
            before = token.type


def _value(node: ast.expr, arguments: set[str]) -> Any:
    match node:
        case ast.Constant(value=str() | int() | float() | bool() | None as value):
            return value
        case ast.Name(id=name) if name in _WORDS:
            return _WORDS[name]
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_value(item, set()) for item in items]
        case ast.Dict(keys=keys, values=values):
            names = [_key(key, arguments) for key in keys]
            pairs = zip(names, (_value(v, set()) for v in values), strict=True)
            return _without_doubles(list(pairs))
    raise NotOneReading(ast.dump(node))


def _key(node: ast.expr | None, arguments: set[str]) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Name) and node.id in arguments:
        return node.id
    raise NotOneReading("the name of an argument is no text")


def _as_object(value: Any, schema: Mapping[str, Any], how: str) -> tuple[dict[str, Any], str]:
    """The arguments in a value that is no object itself."""
    if isinstance(value, dict):
        return value, how
    if value is None:
        return {}, "null was read as no arguments"
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        return value[0], "the arguments were in a list"
    if isinstance(value, str) and value.lstrip()[:1] in _OPENINGS:
        inner = _inner(value)
        if isinstance(inner, dict):
            return inner, "the arguments were JSON in a text"
    if value == []:
        return {}, "an empty list was read as no arguments"
    name = _only_place(value, schema)
    return {name: value}, f"the value was taken as the argument `{name}`"


def _inner(text: str) -> Any:
    """What a text in place of arguments holds, which begins as arguments do."""
    try:
        return arguments_in(text)
    except (ValueError, RecursionError):
        raise NotOneReading(text) from None


def _only_place(value: Any, schema: Mapping[str, Any]) -> str:
    """The one argument that a bare value can be."""
    properties: dict[str, Any] = schema.get("properties", {})
    required: list[str] = [name for name in schema.get("required", ()) if name in properties]
    candidates = required or list(properties)
    fitting = [name for name in candidates if accepts(properties[name], value)]
    if len(fitting) != 1 or len(required) > 1 or value in list(properties):
        raise NotOneReading(repr(value))
    return fitting[0]


def accepts(about: Mapping[str, Any], value: Any) -> bool:
    """Whether a value has a type that the schema of an argument names."""
    return any(
        isinstance(value, kinds) and (not isinstance(value, bool) or kind == "boolean")
        for kind in types_of(about)
        if (kinds := _TYPES.get(kind))
    )


def types_of(about: Mapping[str, Any]) -> set[str]:
    """The JSON types that the schema of an argument names; none if it does not say."""
    members = about.get("anyOf") or about.get("oneOf")
    if members:
        return {kind for member in members for kind in types_of(member)}
    kind = about.get("type")
    return set(kind) if isinstance(kind, list) else {kind} if kind else set()
