"""The JSON Schema of a run's answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from manus.config.packages import import_optional
from manus.state.errors import UsageError
from manus.state.text import read_json


def read_schema(file: Path | None) -> dict[str, Any] | None:
    """Return the schema in a file, with a title; None without a file. Blocking.

    Raises:
        UsageError: it is not the JSON Schema of an object, or nothing here can check the answer.
    """
    if file is None:
        return None
    user, remedy = "--output-schema needs", "pip install jsonschema"
    validators = import_optional("jsonschema.validators", user, "jsonschema", remedy)
    try:
        schema = read_json(file.read_text("utf-8"))
        validators.validator_for(schema).check_schema(schema)
    except (OSError, ValueError, validators.exceptions.SchemaError) as error:
        problem = getattr(error, "message", error)
        raise UsageError(f"{file} is not a JSON Schema: {problem}.") from None
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise UsageError(f'{file} is not the JSON Schema of an object (`"type": "object"`).')
    return {"title": "answer", **schema}
