"""What the real client of a model raises."""

from pathlib import Path

from langchain_core.messages import HumanMessage

from manus.models.providers import build_model
from manus.state.model_settings import ModelSettings


async def failure_of(settings: ModelSettings, *, streamed: bool) -> Exception:
    """The error of a call to this endpoint, which is to fail."""
    model = await build_model(settings, Path())
    try:
        if streamed:
            async for _ in model.astream([HumanMessage("Hi.")]):
                pass
        else:
            await model.ainvoke([HumanMessage("Hi.")])
    except Exception as error:  # noqa: BLE001 - which one it is, is the question
        return error
    raise AssertionError("it did not fail")
