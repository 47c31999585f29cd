"""An answer in the form that was asked for."""

import json
from typing import Any

from pydantic import BaseModel, Field, RootModel

from manus.tools.catalog import Catalog
from manus.tools.create_chat_completion import CreateChatCompletion
from manus.tools.session import Session


class Part(BaseModel):
    name: str
    weight: float = 1.0


class Report(BaseModel):
    """What was found."""

    title: str = Field(description="One line")
    parts: list[Part]
    config: dict[str, int] | None = None


_SINGLE: list[tuple[Any, Any, Any]] = [
    (str, "plain text", "plain text"),
    (int, 7, "7"),
    (bool, True, "true"),
    (list[int], [1, "2"], [1, 2]),
    (dict[str, float], {"a": 1}, {"a": 1.0}),
    (int | str, "x", "x"),
    (list[int], "[1, 2]", [1, 2]),
    (list[int] | str, "[1, 2]", "[1, 2]"),
    (list[Part], [{"name": "a"}], [{"name": "a", "weight": 1.0}]),
    (Part | None, None, "null"),
    (RootModel[list[int]], [1, 2], [1, 2]),
]


async def test_one_value_is_the_argument_response(session: Session) -> None:
    for response_type, given, wanted in _SINGLE:
        made = CreateChatCompletion(response_type=response_type, session=session)
        observation = await Catalog([made]).execute(made.name, {"response": given})
        assert not observation.is_error, response_type
        said = observation.text
        assert (said if isinstance(wanted, str) else json.loads(said)) == wanted


async def test_the_fields_of_a_model_are_the_arguments(session: Session) -> None:
    made = CreateChatCompletion(response_type=Report, session=session)
    [schema] = Catalog([made]).schemas()
    parameters = schema["function"]["parameters"]
    assert set(parameters["properties"]) == {"title", "parts", "config"}
    assert parameters["required"] == ["title", "parts"]
    args = {"title": "t", "parts": [{"name": "p", "weight": "2"}], "config": {"a": 1}}
    observation = await Catalog([made]).execute(made.name, args)
    assert Report.model_validate_json(observation.text) == Report(
        title="t", parts=[Part(name="p", weight=2)], config={"a": 1}
    )
    observation = await Catalog([made]).execute(made.name, {"title": 1, "parts": [{"nam": "x"}]})
    assert "- `title`: Input should be a valid string (got 1)\n" in observation.text
    assert "- `parts.0.name`: Field required\n" in observation.text
