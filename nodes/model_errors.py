"""What a failed model call means: whether it may pass, how long to wait, and a sentence for it."""

from __future__ import annotations

import email.utils
import time
from typing import Any

from state.errors import (
    ContextOverflowError,
    ModelError,
    ModelRefusedError,
    ModelUnavailableError,
)

_PASSING_STATUS = {408, 409, 425, 429}
_TRANSPORT_MODULES = {"openai", "httpx", "httpx2", "httpcore", "httpcore2", "anthropic"}
_NEVER_CONNECTED = {"ConnectError", "ConnectTimeout", "ConnectionRefusedError"}
_NO_ADDRESS = {"UnsupportedProtocol", "InvalidURL", "LocalProtocolError"}
_TOO_LARGE = (
    "context_length",
    "context length",
    "context size",
    "context window",
    "context limit",
    "maximum context",
    "too many tokens",
    "input token count",
    "prompt is too long",
    "prompt too long",
)
_OUT_OF_QUOTA = ("insufficient_quota", "billing", "credit balance")
_SHOWN = 300
_FEW = 3


def explain(error: Exception, *, model: str, address: str) -> ModelError:
    """The error of ours that a provider's error means, with its sentence."""
    if isinstance(error, ModelError):
        return error
    status, said = status_of(error), _said(error)
    where = f"The model server at {address}"
    if _is_overflow(error, status, said):
        return ContextOverflowError(
            f"The request is larger than the context window of `{model}`: {said}"
        )
    if status is None:
        return _without_status(error, said, where)
    if status in (401, 403):
        return ModelRefusedError(
            f"{where} refused the key ({status}); check MANUS_API_KEY or OPENAI_API_KEY."
        )
    if status == 404:
        return ModelRefusedError(
            f"{where} does not know the model `{model}` or has no such address (404); "
            "check MANUS_MODEL and MANUS_BASE_URL."
        )
    if status == 402 or (status == 429 and _is_out_of_quota(error, said)):
        return ModelRefusedError(f"{where} says that the account has no credit left: {said}")
    if status == 429:
        return ModelUnavailableError(
            f"{where} limits the rate of requests (429) and did not let this one through; "
            "try again later."
        )
    if status < 500 and status not in _PASSING_STATUS:
        return ModelRefusedError(f"{where} refused the request ({status}): {said}")
    return ModelUnavailableError(f"{where} failed ({status}): {said}")


def _without_status(error: Exception, said: str, where: str) -> ModelError:
    if _is_kind(error, _NO_ADDRESS):
        return ModelRefusedError(
            f"{where} cannot be asked, since this is not an address ({_cause(error)}); "
            "MANUS_BASE_URL must look like http://localhost:11434/v1."
        )
    if _is_kind(error, _NEVER_CONNECTED):
        return ModelUnavailableError(
            f"{where} cannot be reached ({_cause(error)}); check MANUS_BASE_URL and the network."
        )
    if _is_timeout(error):
        return ModelUnavailableError(f"{where} did not answer in time; try again later.")
    if _is_transport(error):
        return ModelUnavailableError(f"{where} broke the connection off: {_cause(error)}")
    if _told(error):
        return ModelUnavailableError(f"{where} answered with an error: {said}")
    return ModelUnavailableError(
        f"{where} answered with something that is no chat reply ({said}); check MANUS_BASE_URL, "
        "which often ends in /v1."
    )


def may_pass(error: BaseException) -> bool:
    """Whether the same request may succeed a little later."""
    return isinstance(error, ModelUnavailableError)


def attempts_for(error: Exception, most: int) -> int:
    """How many attempts an error is worth: a server that is not there is not waited for long."""
    lasting = status_of(error) is None and not (_is_timeout(error) or _is_transport(error))
    return min(most, _FEW) if lasting or _is_kind(error, _NEVER_CONNECTED) else most


def server_wait(error: Exception) -> float | None:
    """The seconds that the server asked to wait, or None."""
    headers = getattr(getattr(error, "response", None), "headers", None)
    if headers is None:
        return None
    if milliseconds := headers.get("retry-after-ms"):
        return _number(milliseconds, 1000.0)
    value = headers.get("retry-after")
    if value is None:
        return None
    if (seconds := _number(value, 1.0)) is not None:
        return seconds
    try:
        at = email.utils.parsedate_to_datetime(value).timestamp()
    except ValueError:
        return None
    return max(0.0, at - time.time())


def _number(value: str, divisor: float) -> float | None:
    try:
        return max(0.0, float(value) / divisor)
    except ValueError:
        return None


def status_of(error: Exception) -> int | None:
    """The HTTP status behind a provider's error, or None; some send it in a reply of status 200."""
    for source in (error, getattr(error, "response", None)):
        status: Any = getattr(source, "status_code", None)
        if isinstance(status, int):
            return status
    code = _told(error).get("code")
    return code if isinstance(code, int) and 400 <= code < 600 else None


def _told(error: Exception) -> dict[str, Any]:
    """What the server says of the error in its own words."""
    for found in (getattr(error, "body", None), *error.args[:1]):
        if isinstance(found, dict):
            return found
    return {}


def _said(error: Exception) -> str:
    told = _told(error).get("message") or str(error) or type(error).__name__
    text = " ".join(str(told).split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _is_overflow(error: Exception, status: int | None, said: str) -> bool:
    if type(error).__name__.endswith("ContextOverflowError"):
        return True
    return _told(error).get("code") == "context_length_exceeded" or (
        status in (400, 413) and any(word in said.lower() for word in _TOO_LARGE)
    )


def _is_out_of_quota(error: Exception, said: str) -> bool:
    known = f"{_told(error).get('code')} {_told(error).get('type')} {said}".lower()
    return any(word in known for word in _OUT_OF_QUOTA)


def _chain(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in found:
        found.append(current)
        current = current.__cause__ or current.__context__
    return found


def _is_kind(error: Exception, names: set[str]) -> bool:
    return any(type(link).__name__ in names for link in _chain(error))


def _is_timeout(error: Exception) -> bool:
    return any("timeout" in type(link).__name__.lower() for link in _chain(error))


def _is_transport(error: Exception) -> bool:
    return any(
        isinstance(link, OSError) or type(link).__module__.split(".")[0] in _TRANSPORT_MODULES
        for link in _chain(error)
    )


def _cause(error: Exception) -> str:
    last = _chain(error)[-1]
    return " ".join(str(last).split())[:_SHOWN] or type(last).__name__
