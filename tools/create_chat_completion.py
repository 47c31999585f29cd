"""`create_chat_completion`: an answer in a form that was asked for, checked before it counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, cast

from pydantic import BaseModel, Field, RootModel, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic_core import to_json
from typing_extensions import override

from manus.state.errors import ToolError
from manus.tools.arguments import describe, explain_arguments
from manus.tools.base import AgentTool, Arguments
from manus.tools.result import Observation

_FIELD = "response"


class CreateChatCompletion(AgentTool):
    """Gives an answer of `response_type`: a scalar, a list, a dict, a union, a pydantic model.

    A model's own fields are the arguments; any other type is that of one argument, `response`.

    Raises:
        ValueError: no schema can be made of the type.
    """

    name: str = "create_chat_completion"
    description: str = ""
    args_schema: type[BaseModel] = Arguments
    without_effect: ClassVar[bool] = True
    response_type: Any = Field(str, exclude=True)

    @override
    def model_post_init(self, context: Any) -> None:
        self.args_schema = _arguments_of(self.response_type)
        form = "the arguments that this tool takes"
        if not _is_model(self.response_type):
            schema = self.args_schema.model_json_schema()
            form = describe(schema["properties"][_FIELD], schema)
        self.description = f"Give the answer in the form that is asked for: {form}."
        super().model_post_init(context)

    def parse(self, args: Mapping[str, Any]) -> Any:
        """The value that the arguments of a call mean, as `response_type`.

        Raises:
            ToolError: they do not fit; it says how.
        """
        try:
            given = self.args_schema.model_validate(dict(args))
        except ValidationError as error:
            raise ToolError(explain_arguments(self, error)) from None
        return given if _is_model(self.response_type) else getattr(given, _FIELD)

    @override
    async def observe(self, **arguments: Any) -> Observation:
        if not _is_model(self.response_type):
            return Observation(_as_text(arguments[_FIELD]))
        # validated already, and a validator need not bear its own result
        answer = self.args_schema.model_construct(set(arguments), **arguments)
        return Observation(_as_text(answer))


def _is_model(response_type: Any) -> bool:
    """Whether it is a model with fields of its own; a root model is one value."""
    return (
        isinstance(response_type, type)
        and issubclass(response_type, BaseModel)
        and not issubclass(response_type, RootModel)
    )


def _arguments_of(response_type: Any) -> type[BaseModel]:
    if _is_model(response_type):
        return cast("type[BaseModel]", response_type)
    fields: dict[str, Any] = {_FIELD: (response_type, Field(description="The answer"))}
    try:
        return create_model("CreateChatCompletionArgs", __base__=Arguments, **fields)
    except PydanticUserError:
        raise ValueError(
            f"{response_type!r} cannot be a response type; use a scalar, a list, a dict, a union "
            "of them, or a pydantic model."
        ) from None


def _as_text(answer: Any) -> str:
    return answer if isinstance(answer, str) else to_json(answer, indent=2).decode()
