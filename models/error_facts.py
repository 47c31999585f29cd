"""What a provider's exception tells, in whichever shape its client library raises it.

OpenAI, Anthropic and Azure: `status_code`, `response.headers`, `body`. Google: `code`, `details`.
Bedrock (botocore): a `response` dict with the error's name. LangChain may have wrapped any of them.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

_SHOWN = 300
_MESSAGES = ("message", "Message", "detail", "error")
_PAGE = re.compile(r"\s*<(?:!doctype|html|head|body)\b", re.IGNORECASE)
_TAG = re.compile(r"<(script|style)\b.*?(?:</\1>|\Z)|<[^<>]*>", re.IGNORECASE | re.DOTALL)
_READ = 100_000
"""Characters of a server's words that are read."""

# What providers call an error, for where there is no status: in the middle of a stream, mostly.
_NAMED = {
    "overloaded_error": 529,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "authentication_error": 401,
    "permission_error": 403,
    "billing_error": 402,
    "not_found_error": 404,
    "invalid_request_error": 400,
    "request_too_large": 413,
    "throttlingexception": 429,
    "toomanyrequestsexception": 429,
    "modelnotreadyexception": 503,
    "modeltimeoutexception": 504,
    "modelerrorexception": 500,
    "modelstreamerrorexception": 500,
    "serviceunavailableexception": 503,
    "internalserverexception": 500,
    "validationexception": 400,
    "accessdeniedexception": 403,
    "unrecognizedclientexception": 403,
    "invalidsignatureexception": 403,
    "missingauthenticationtokenexception": 403,
    "expiredtokenexception": 403,
    "resourcenotfoundexception": 404,
    "servicequotaexceededexception": 402,
}


def chain(error: BaseException) -> list[BaseException]:
    """The error and those that it came from, itself first."""
    found: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in found:
        found.append(current)
        current = current.__cause__ or current.__context__
    return found


def status_of(error: BaseException) -> int | None:
    """The HTTP status behind a provider's error, or None.

    Some servers send an error in a reply of status 200, or in a stream: then its name tells.
    """
    return next((found for link in chain(error) if (found := _status(link)) is not None), None)


def _status(link: BaseException) -> int | None:
    said = _told(link)
    by_name = _NAMED.get(str(said.get("Code") or said.get("type") or "").lower())
    if by_name is not None and isinstance(getattr(link, "response", None), dict):
        return by_name  # AWS sends one status for several errors
    return next(filter(_is_status, _statuses(link)), None) or by_name


def _statuses(link: BaseException) -> Iterable[Any]:
    response = getattr(link, "response", None)
    if isinstance(response, dict):
        yield (response.get("ResponseMetadata") or {}).get("HTTPStatusCode")
    yield getattr(link, "status_code", None)
    yield getattr(response, "status_code", None)
    yield getattr(link, "code", None)
    yield _told(link).get("code")


def _is_status(value: Any) -> bool:
    return isinstance(value, int) and 400 <= value < 600


def told(error: BaseException) -> dict[str, Any]:
    """What the server says of the error in its own words (`message`, `code`, `details`, …)."""
    return next((found for link in chain(error) if (found := _told(link))), {})


def _told(link: BaseException) -> dict[str, Any]:
    response = getattr(link, "response", None)
    sources = (
        getattr(link, "body", None),
        getattr(link, "details", None),
        response if isinstance(response, dict) else None,
        *link.args[:1],
    )
    for found in sources:
        found = found[0] if isinstance(found, list) and len(found) == 1 else found
        if isinstance(found, dict):
            inner = found.get("error") or found.get("Error")
            return inner if isinstance(inner, dict) else found
    return {}


def message_of(error: BaseException) -> str:
    """The server's message, in whatever place it stands, else the error's own."""
    words = told(error)
    found = next((words[name] for name in _MESSAGES if words.get(name)), None)
    text = (
        found
        if isinstance(found, str | None)
        else json.dumps(found, ensure_ascii=False, default=str)
    )
    behind = words.get("metadata")
    if text and isinstance(behind, dict) and isinstance(raw := behind.get("raw"), str):
        text = f"{text}: {raw}"  # OpenRouter's own message does not say what the provider's was
    return (text or body_of(error) or str(error) or type(error).__name__)[:_READ]


def body_of(error: BaseException) -> str:
    """The text of an answer that is no JSON object; of a page what is written on it."""
    bodies = (getattr(link, "body", None) for link in chain(error))
    text = next((body for body in bodies if isinstance(body, str) and body.strip()), "")
    if not is_page(text):
        return text
    bare = _TAG.sub(" ", text[:_READ])
    return " ".join(html.unescape(bare).split())


def is_page(text: str) -> bool:
    """Whether a text is HTML, which comes from a proxy and not from a model server."""
    return bool(_PAGE.match(text))


def page_of(error: BaseException) -> bool:
    """Whether the answer was a page."""
    bodies = (getattr(link, "body", None) for link in chain(error))
    return any(isinstance(body, str) and is_page(body) for body in bodies)


def said(error: BaseException) -> str:
    """The message on one line of bearable length."""
    return shortened(message_of(error))


def shortened(text: str) -> str:
    """The text on one line of bearable length."""
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def headers_of(error: BaseException) -> Mapping[str, str]:
    """The headers of the answer that the error stands for, by names in lower case."""
    for link in chain(error):
        response = getattr(link, "response", None)
        if isinstance(response, dict):
            headers: Any = (response.get("ResponseMetadata") or {}).get("HTTPHeaders")
        else:
            headers = getattr(response, "headers", None)
        if headers:
            return {str(name).lower(): str(value) for name, value in headers.items()}
    return {}
