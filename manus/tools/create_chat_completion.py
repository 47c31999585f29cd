"""`create_chat_completion`: a structured output, validated against its type."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel, Field, RootModel, create_model
from pydantic_core import to_json
from typing_extensions import override

from manus.calls.base import AgentTool, Arguments, is_model
from manus.calls.result import Observation

_FIELD = "response"


class CreateChatCompletion(AgentTool):
    """Return an answer of `response_type`: a scalar, a list, a dict, a union, a pydantic model.

    The fields of a model become the arguments; any other type is the type of one argument,
    `response`.
    """

    name: str = "create_chat_completion"
    description: str = "Give the answer in the requested form: this tool's arguments."
    args_schema: type[BaseModel] = Arguments
    without_effect: ClassVar[bool] = True
    response_type: Any = Field(str, exclude=True)

    @override
    def model_post_init(self, context: Any) -> None:
        self.args_schema = self.response_type
        # a root model is one value without fields
        if not is_model(self.response_type) or issubclass(self.response_type, RootModel):
            fields: Any = {_FIELD: (self.response_type, Field(description="The answer"))}
            name = "CreateChatCompletionArgs"
            self.args_schema = create_model(name, __base__=Arguments, **fields)
        super().model_post_init(context)

    @override
    async def observe(self, **arguments: Any) -> Observation:
        answer = arguments if self.args_schema is self.response_type else arguments[_FIELD]
        text = answer if isinstance(answer, str) else to_json(answer, indent=2).decode()
        return Observation(text)
