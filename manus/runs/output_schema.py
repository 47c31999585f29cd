"""The JSON Schema of a run's answer."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from manus.state.errors import UsageError
from manus.state.text import read_json


def read_schema(file: Path | None) -> dict[str, Any] | None:
    """Return the schema in a file, with a title; None without a file. Blocking.

    Raises:
        UsageError: it is not the JSON Schema of an object, or nothing here can check the answer.
    """
    if file is None:
        return None
    if importlib.util.find_spec("jsonschema") is None:
        raise UsageError("--output-schema needs the package `jsonschema` to check the answer.")
    from jsonschema import SchemaError
    from jsonschema.validators import validator_for

    try:
        schema = read_json(file.read_text("utf-8"))
        validator_for(schema).check_schema(schema)
    except (OSError, ValueError, SchemaError) as error:
        problem = getattr(error, "message", error)
        raise UsageError(f"{file} is not a JSON Schema: {problem}.") from None
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise UsageError(f'{file} is not the JSON Schema of an object (`"type": "object"`).')
    return {"title": "answer", **schema}
