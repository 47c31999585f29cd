"""The message that ends a run: an assistant message whose text is the run's output.

Programs that use any LangGraph graph read the result of a run from the last message of its state.
"""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage

from manus.state.history import History
from manus.state.messages import CLOSES, get_text, has_calls, is_reply


def is_closing(message: BaseMessage) -> bool:
    """Return whether a message only repeats the output of a run (see `CLOSES`)."""
    return CLOSES in message.additional_kwargs


def without_closings(history: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return the history without the messages that repeat what it already contains.

    An agent of a team may get the closing message of another one without the messages that it
    closes; that one is kept.
    """
    if isinstance(history, History) and not history.has_closings:
        return list(history)
    closings = [message for message in history if CLOSES in message.additional_kwargs]
    if not closings:
        return list(history)
    ids = {message.id for message in history}
    hidden = [m.id for m in closings if m.additional_kwargs[CLOSES] in ids]
    return [message for message in history if message.id not in hidden]


def close_history(
    history: Sequence[AnyMessage], output: str, *, is_answer: bool = False
) -> list[AnyMessage]:
    """Return the write after which a history ends with the output of a run.

    If its last message is a plain text that `is_answer`, it becomes the output, which may have a
    note at its end. Otherwise a closing message is added.
    """
    messages = without_closings(history)
    last = messages[-1] if messages else AIMessage("", id="")
    if is_reply(last) and not has_calls(last):
        if get_text(last) == output:
            return []
        is_plain = is_answer and isinstance(last.content, str)
        if is_plain and output.startswith(get_text(last).strip()):
            return [last.model_copy(update={"content": output})]
    if not output:
        return []
    kwargs = {CLOSES: last.id}
    return [AIMessage(output, id=f"{last.id}-output", additional_kwargs=kwargs)]
