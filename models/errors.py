"""What a failed model call means: whether it may pass, and a sentence for it."""

from __future__ import annotations

import re
from ssl import SSLCertVerificationError

from manus.models.error_facts import (
    body_of,
    chain,
    message_of,
    page_of,
    said,
    shortened,
    status_of,
    told,
)
from manus.models.providers import KEYS
from manus.state.errors import (
    ContextOverflowError,
    ModelError,
    ModelRefusedError,
    ModelUnavailableError,
)
from manus.state.model_settings import provider_of

_PASSING_STATUS = {408, 409, 425, 429}
_TRANSPORT = {
    "aiohttp",
    "anthropic",
    "botocore",
    "httpcore",
    "httpcore2",
    "httpx",
    "httpx2",
    "openai",
    "urllib3",
}
"""Packages whose exceptions are about the connection, where there is no status."""
_NEVER_CONNECTED = {
    "ClientConnectorError",
    "ConnectError",
    "ConnectTimeout",
    "ConnectTimeoutError",
    "ConnectionRefusedError",
    "EndpointConnectionError",
}
_AFTER_SENDING = {
    "ClientPayloadError",
    "ConnectionClosedError",
    "IncompleteRead",
    "ProtocolError",
    "ReadError",
    "ReadTimeout",
    "ReadTimeoutError",
    "RemoteProtocolError",
    "ResponseStreamingError",
    "ServerDisconnectedError",
    "ServerTimeoutError",
    "SilentStreamError",
    "SocketTimeoutError",
}
"""What clients raise when a request had gone out, and no whole answer came."""
_NO_ADDRESS = {"UnsupportedProtocol", "InvalidURL", "LocalProtocolError"}
_NO_KEY = {
    "CredentialRetrievalError",
    "NoAuthTokenError",
    "NoCredentialsError",
    "PartialCredentialsError",
    "SSOTokenLoadError",
    "TokenRetrievalError",
    "UnauthorizedSSOTokenError",
}
# Of botocore's own errors those that may pass; the others are about how the client was set up.
_OF_AWS_TRANSPORT = {
    "ConnectionError",
    "HTTPClientError",
    "IncompleteReadError",
    "ResponseStreamingError",
}
_FLAGGED = re.compile(
    r"flagged|moderation|content (?:management )?(?:policy|filter)|inappropriate content", re.I
)
_FILTERED = ("content_filter", "content_policy_violation", "data_inspection_failed")
_OUT_OF_QUOTA = ("insufficient_quota", "billing", "credit balance")
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
_TOO_LARGE_FOR_RATE = re.compile(r"request too large|tokens must be reduced", re.I)


def explain(error: Exception, *, model: str, address: str) -> ModelError:
    """The error of ours that a provider's error means, with its sentence."""
    if isinstance(error, ModelError):
        return error
    status, words = status_of(error), said(error)
    where = f"The model server at {address}"
    if _is_too_large(error, status):
        return ContextOverflowError(
            f"The request is larger than the context window of `{model}`: {words}", model
        )
    key = KEYS[provider_of(model)]
    if _is_kind(error, _NO_KEY) or "no api key" in words.lower():
        return ModelRefusedError(f"{where} cannot be asked without a key; check {key}.")
    if status is None:
        return _without_status(error, words, where)
    return _of_status(error, status, words, where, key, model)


def _of_status(
    error: Exception, status: int, words: str, where: str, key: str, model: str
) -> ModelError:
    if status == 403 and _FLAGGED.search(words):
        return ModelRefusedError(f"{where} refused the request (403){_because(words)}")
    if status == 403 and page_of(error):
        return ModelRefusedError(
            f"{where} cannot be asked: a page came back (403){_because(words)}; check whether a "
            f"proxy or a firewall stands between, and {key}."
        )
    # Google refuses a key as a bad request
    if status in (401, 403) or (status == 400 and "api key" in words.lower()):
        return ModelRefusedError(
            f"{where} refused the key ({status}){_because(words)}; check {key}."
        )
    if status == 404:
        return ModelRefusedError(
            f"{where} does not know the model `{model}` or has no such address "
            f"(404){_because(words)}; check MANUS_MODEL and MANUS_BASE_URL."
        )
    if status == 402 or (status == 429 and _is_out_of_quota(error, words)):
        return ModelRefusedError(f"{where} says that the account has no credit left: {words}")
    if status == 429:
        return ModelUnavailableError(f"{where} limits the rate of requests (429): {words}")
    # a call of the model that Groq could not read: the model may do better
    slip = told(error).get("code") == "tool_use_failed"
    if status < 500 and status not in _PASSING_STATUS and not slip:
        return ModelRefusedError(f"{where} refused the request ({status}): {words}")
    return ModelUnavailableError(f"{where} failed ({status}): {words}")


def _because(words: str) -> str:
    """What the server says, where it says more than the status."""
    return "" if words.startswith("Error code:") else f": {words.rstrip('.')}"


def _without_status(error: Exception, words: str, where: str) -> ModelError:
    if {str(told(error).get(name)) for name in ("code", "type")}.intersection(
        _FILTERED
    ) or _FLAGGED.search(words):
        return ModelRefusedError(f"{where} refused the request: {words}")
    if refused := _misconfigured(error, where):
        return ModelRefusedError(refused)
    if _is_kind(error, _NEVER_CONNECTED):
        return ModelUnavailableError(
            f"{where} cannot be reached ({_cause(error)}); check MANUS_BASE_URL and the network."
        )
    if any("timeout" in type(link).__name__.lower() for link in chain(error)):
        return ModelUnavailableError(
            f"{where} said nothing for too long; set a longer MANUS_TIMEOUT if it is only slow."
        )
    if told(error):
        return ModelUnavailableError(f"{where} answered with an error: {words}")
    if _is_transport(error) and not body_of(error):
        return ModelUnavailableError(f"{where} broke the connection off: {_cause(error)}")
    return ModelRefusedError(
        f"{where} answered with something that is no chat reply ({words}); check MANUS_BASE_URL, "
        "which often ends in /v1."
    )


def _misconfigured(error: Exception, where: str) -> str | None:
    """What is wrong with the address or the machine's own set-up; None if that is not why."""
    if _is_kind(error, _NO_ADDRESS):
        return (
            f"{where} cannot be asked, since this is not an address ({_cause(error)}); "
            "MANUS_BASE_URL must look like http://localhost:11434/v1."
        )
    kinds = type(error).__mro__
    if any(kind.__module__.startswith("botocore.") for kind in kinds) and not any(
        kind.__name__ in _OF_AWS_TRANSPORT for kind in kinds
    ):
        return f"{where} cannot be asked ({_cause(error)}); check MANUS_BASE_URL and the region."
    responses = (getattr(link, "response", None) for link in chain(error))
    statuses = (getattr(response, "status_code", None) or 0 for response in responses)
    if _is_kind(error, {"TooManyRedirects"}) or any(300 <= status < 400 for status in statuses):
        astray = "sends the request elsewhere, and that leads to no server"
        return f"{where} {astray}; check MANUS_BASE_URL."
    if untrusted := [link for link in chain(error) if isinstance(link, SSLCertVerificationError)]:
        return (
            f"{where} is not trusted: its certificate was not accepted "
            f"({untrusted[0].verify_message}). If it is the right server, set SSL_CERT_FILE to a "
            "file with the certificates that are to be trusted, its authority's among them."
        )
    return None


def may_be_billed(error: BaseException) -> bool:
    """Whether a provider may bill a call that ended so, though no whole reply came of it.

    Not one that it refused, or that never reached it. One that was cancelled, or of which nothing
    more was heard after it had been sent, may have been worked on.
    """
    if not isinstance(error, Exception):
        return True
    if status_of(error) is not None or told(error):
        return False
    return _is_kind(error, _AFTER_SENDING)


def _is_too_large(error: BaseException, status: int | None) -> bool:
    """Whether an error says that a request is larger than what the model, or a proxy, takes."""
    if any(type(link).__name__.endswith("ContextOverflowError") for link in chain(error)):
        return True
    if told(error).get("code") == "context_length_exceeded" or status == 413:
        return True
    words = message_of(error)
    if status == 429:  # larger than what may be sent in a minute is not let through later either
        return bool(_TOO_LARGE_FOR_RATE.search(words))
    known = status not in (401, 403, 404) and _TOO_LARGE.search(words)
    return bool(known) and not _is_reply_too_large(words)


def _is_reply_too_large(words: str) -> bool:
    """Whether the reply that is asked for is too large, even without a request."""
    found = _REPLY_TOO_LARGE.search(words)
    if found is None:
        return False
    reply, window = found.groups()
    return reply is None or int(reply) >= int(window)


def _is_out_of_quota(error: Exception, words: str) -> bool:
    """Whether waiting will not help. Google says the same of a minute's quota and of a day's."""
    if details := told(error).get("details"):
        return "PerDay" in str(details) or "retryDelay" not in str(details)
    known = f"{told(error).get('code')} {told(error).get('type')} {words}".lower()
    return any(word in known for word in _OUT_OF_QUOTA)


def _is_kind(error: BaseException, names: set[str]) -> bool:
    return any(type(link).__name__ in names for link in chain(error))


def _is_transport(error: Exception) -> bool:
    return any(
        isinstance(link, OSError) or type(link).__module__.split(".")[0] in _TRANSPORT
        for link in chain(error)
    )


def _cause(error: Exception) -> str:
    last = chain(error)[-1]
    return shortened(str(last)) or type(last).__name__
