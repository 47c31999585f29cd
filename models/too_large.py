"""Whether a server refuses a request as too large, in the words of each."""

from __future__ import annotations

import re

from manus.models.error_facts import chain, message_of, told

_TOO_LARGE = re.compile(
    r"context[_ ](?:length|size|window|limit)|maximum (?:context|model length|prompt length)"
    r"|too many tokens|input is too long|input token count|prompt is too long|prompt too long"
    r"|model token limit|range of input length|prompt exceeds max|max_new_tokens. must be"
    r"|(?:input|prompt) length .{0,40}exceeds|reduce the length of the (?:messages|prompt|input)"
    r"|(?:input|prompt) tokens? (?:exceed|too long)|maximum input tokens|max message tokens"
    r"|inputs. must have less than|contextwindowexceeded|n_keep.{0,20}n_ctx|length of messages must"
    r"|(?:prompt|messages|输入|上下文)\s*(?:长度)?(?:超长|过长|超过)|expected maxlength",
    re.IGNORECASE,
)
_REPLY_TOO_LARGE = re.compile(
    r"max_(?:completion_)?tokens\W.{0,30}is too large(?::\s*(\d+).*?context length is (\d+))?",
    re.IGNORECASE,
)
# A request that is larger than what may be sent in a minute is not let through later either.
_TOO_LARGE_FOR_RATE = re.compile(
    r"request too large .{0,300}?tokens|tokens must be reduced", re.IGNORECASE | re.DOTALL
)


def is_too_large(error: BaseException, status: int | None) -> bool:
    """Whether an error says that a request is larger than what the model, or a proxy, takes."""
    if any(type(link).__name__.endswith("ContextOverflowError") for link in chain(error)):
        return True
    if told(error).get("code") == "context_length_exceeded" or status == 413:
        return True
    if status in (401, 403, 404):
        return False
    known, words = _TOO_LARGE_FOR_RATE if status == 429 else _TOO_LARGE, message_of(error)
    return bool(known.search(words)) and not _is_reply(words)


def _is_reply(words: str) -> bool:
    """Whether the reply that is asked for is too large, even without a request."""
    found = _REPLY_TOO_LARGE.search(words)
    if found is None:
        return False
    reply, window = found.groups()
    return reply is None or int(reply) >= int(window)
