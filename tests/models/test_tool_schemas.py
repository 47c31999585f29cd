"""Tool schemas in the form that particular models accept."""

import copy

from manus.config.model_settings import ModelSettings
from manus.models.tool_schemas import adapt_tools


def test_open_objects_of_a_schema_are_closed_at_any_depth() -> None:
    open_object = {"type": "object", "description": "Any"}
    parameters = {
        "type": "object",
        "properties": {
            "a": open_object,
            "b": {"type": "array", "items": open_object},
            "c": {"anyOf": [{"type": "object", "properties": {"d": open_object}}]},
        },
    }
    tool = {"type": "function", "function": {"name": "t", "parameters": parameters}}
    before = copy.deepcopy(tool)
    [adapted] = adapt_tools([tool], ModelSettings(model="google/gemini-3-pro")) or []
    text = {"type": "string", "description": "Any (as JSON text)"}
    assert adapted["function"]["parameters"]["properties"] == {
        "a": text,
        "b": {"type": "array", "items": text},
        "c": {"anyOf": [{"type": "object", "properties": {"d": text}}]},
    }
    assert tool == before
    assert adapt_tools([tool], ModelSettings(model="gpt-5.2")) == [tool]
