"""What a failed model call means: whether it may pass, and a sentence for it."""

from __future__ import annotations

import re
from ssl import SSLCertVerificationError

from manus.models.error_facts import (
    body_of,
    chain,
    page_of,
    said,
    shortened,
    status_of,
    told,
)
from manus.models.retry_after import retry_details, server_wait
from manus.models.too_large import is_too_large
from manus.state.errors import (
    ContextOverflowError,
    ModelError,
    ModelRefusedError,
    ModelUnavailableError,
)
from manus.state.model_settings import provider_of

_PASSING_STATUS = {408, 409, 425, 429}
_TRANSPORT_MODULES = {
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
_NEVER_CONNECTED = {
    "ClientConnectorError",
    "ConnectError",
    "ConnectTimeout",
    "ConnectTimeoutError",
    "ConnectionRefusedError",
    "EndpointConnectionError",
}
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
KEYS = {
    "openai": "MANUS_API_KEY or OPENAI_API_KEY",
    "azure": "MANUS_API_KEY",
    "anthropic": "MANUS_API_KEY or ANTHROPIC_API_KEY",
    "google": "MANUS_API_KEY or GOOGLE_API_KEY",
    "bedrock": "the AWS credentials (or MANUS_API_KEY) and the account's access to the model",
}
_FLAGGED = re.compile(
    r"flagged|moderation|content (?:management )?policy|inappropriate content", re.IGNORECASE
)
_FILTERED = ("content_filter", "content_policy_violation", "data_inspection_failed")
_OUT_OF_QUOTA = ("insufficient_quota", "billing", "credit balance")
_FEW = 3
_UNCONNECTED = 2


def explain(error: Exception, *, model: str, address: str) -> ModelError:
    """The error of ours that a provider's error means, with its sentence."""
    if isinstance(error, ModelError):
        return error
    status, words = status_of(error), said(error)
    where = f"The model server at {address}"
    if is_too_large(error, status):
        return ContextOverflowError(
            f"The request is larger than the context window of `{model}`: {words}", model
        )
    key = KEYS[provider_of(model)]
    if _lacks_key(error, words):
        return ModelRefusedError(f"{where} cannot be asked without a key; check {key}.")
    if status is None and _is_filtered(error, words):
        return ModelRefusedError(f"{where} refused the request: {words}", of_request=True)
    if status is None:
        return _without_status(error, words, where)
    if status == 403:
        return _forbidden(error, words, where, key)
    if status == 401 or _refuses_key(status, words):
        return ModelRefusedError(f"{where} refused the key ({status}); check {key}.")
    if status == 404:
        return ModelRefusedError(
            f"{where} does not know the model `{model}` or has no such address "
            f"(404){_because(words)}; check MANUS_MODEL and MANUS_BASE_URL."
        )
    if status == 402 or (status == 429 and _is_out_of_quota(error, words)):
        return ModelRefusedError(f"{where} says that the account has no credit left: {words}")
    if status == 429:
        return ModelUnavailableError(
            f"{where} limits the rate of requests (429) and did not let this one through; "
            f"try again {_later(error)}."
        )
    if status < 500 and status not in _PASSING_STATUS and not _is_slip(error):
        said_so = f"{where} refused the request ({status}): {words}"
        return ModelRefusedError(said_so, of_request=True)
    return ModelUnavailableError(f"{where} failed ({status}): {words}")


def _forbidden(error: Exception, words: str, where: str, key: str) -> ModelRefusedError:
    if _FLAGGED.search(words):
        said_so = f"{where} refused the request (403){_because(words)}"
        return ModelRefusedError(said_so, of_request=True)
    if page_of(error):
        return ModelRefusedError(
            f"{where} cannot be asked: a page came back (403){_because(words)}; check whether a "
            f"proxy or a firewall stands between, and {key}."
        )
    return ModelRefusedError(f"{where} refused the key (403){_because(words)}; check {key}.")


def _because(words: str) -> str:
    """What the server says, where it says more than the status."""
    return "" if words.startswith("Error code:") else f": {words.rstrip('.')}"


def _is_filtered(error: Exception, words: str) -> bool:
    """Whether a content filter says no, in the middle of a stream: there it has no status."""
    said_so = told(error).get("code") in _FILTERED or told(error).get("type") in _FILTERED
    return said_so or "content filter" in words.lower() or bool(_FLAGGED.search(words))


def _is_slip(error: Exception) -> bool:
    """Whether the model's call could not be read by the server, as Groq tells: it may do better."""
    return told(error).get("code") == "tool_use_failed"


def _later(error: Exception) -> str:
    wait = server_wait(error)
    return "later" if wait is None or wait < 1 else f"in {wait:,.0f} s, as it asks"


def _lacks_key(error: Exception, words: str) -> bool:
    return _is_kind(error, _NO_KEY) or "no api key" in words.lower()


def _refuses_key(status: int, words: str) -> bool:
    """Google refuses a key as a bad request."""
    return status == 400 and "api key" in words.lower()


def _without_status(error: Exception, words: str, where: str) -> ModelError:
    if _is_kind(error, _NO_ADDRESS):
        return ModelRefusedError(
            f"{where} cannot be asked, since this is not an address ({_cause(error)}); "
            "MANUS_BASE_URL must look like http://localhost:11434/v1."
        )
    if _is_misconfigured(error):
        return ModelRefusedError(
            f"{where} cannot be asked ({_cause(error)}); check MANUS_BASE_URL and the region."
        )
    if _leads_astray(error):
        return ModelRefusedError(
            f"{where} sends the request elsewhere, and that leads to no server "
            f"({_cause(error).partition(chr(10))[0]}); check MANUS_BASE_URL."
        )
    if untrusted := [link for link in chain(error) if isinstance(link, SSLCertVerificationError)]:
        return ModelRefusedError(
            f"{where} is not trusted: its certificate was not accepted "
            f"({untrusted[0].verify_message}). If it is the right server, set SSL_CERT_FILE to a "
            "file with the certificates that are to be trusted, its authority's among them."
        )
    if is_never_connected(error):
        return ModelUnavailableError(
            f"{where} cannot be reached ({_cause(error)}); check MANUS_BASE_URL and the network."
        )
    if _is_timeout(error):
        return ModelUnavailableError(f"{where} did not answer in time; try again later.")
    if body_of(error):
        return ModelUnavailableError(f"{where} answered with an error: {words}")
    if _is_transport(error):
        return ModelUnavailableError(f"{where} broke the connection off: {_cause(error)}")
    if told(error):
        return ModelUnavailableError(f"{where} answered with an error: {words}")
    return ModelUnavailableError(
        f"{where} answered with something that is no chat reply ({words}); check MANUS_BASE_URL, "
        "which often ends in /v1."
    )


def may_pass(error: BaseException) -> bool:
    """Whether the same request may succeed a little later."""
    return isinstance(error, ModelUnavailableError)


def attempts_for(error: Exception, most: int) -> int:
    """How many attempts an error is worth: a server that is not there is not waited for long."""
    if is_never_connected(error):
        return min(most, _UNCONNECTED)
    lasting = status_of(error) is None and not (_is_timeout(error) or _is_transport(error))
    return min(most, _FEW) if lasting else most


def _is_out_of_quota(error: Exception, words: str) -> bool:
    """Whether waiting will not help. Google says the same of a minute's quota and of a day's."""
    if details := retry_details(error):
        return "PerDay" in str(details) or "retryDelay" not in str(details)
    known = f"{told(error).get('code')} {told(error).get('type')} {words}".lower()
    return any(word in known for word in _OUT_OF_QUOTA)


def is_never_connected(error: Exception) -> bool:
    """Whether there was not even a connection."""
    return _is_kind(error, _NEVER_CONNECTED)


def _is_kind(error: Exception, names: set[str]) -> bool:
    return any(type(link).__name__ in names for link in chain(error))


def _is_misconfigured(error: Exception) -> bool:
    """Whether AWS's client would not send the request."""
    kinds = type(error).__mro__
    own = any(kind.__module__.startswith("botocore.") for kind in kinds)
    return own and not any(kind.__name__ in _OF_AWS_TRANSPORT for kind in kinds)


def _leads_astray(error: Exception) -> bool:
    """Whether the answer was a redirect that could not be followed."""
    responses = (getattr(link, "response", None) for link in chain(error))
    statuses = (getattr(response, "status_code", None) or 0 for response in responses)
    return _is_kind(error, {"TooManyRedirects"}) or any(300 <= status < 400 for status in statuses)


def _is_timeout(error: Exception) -> bool:
    return any("timeout" in type(link).__name__.lower() for link in chain(error))


def _is_transport(error: Exception) -> bool:
    return any(
        isinstance(link, OSError) or type(link).__module__.split(".")[0] in _TRANSPORT_MODULES
        for link in chain(error)
    )


def _cause(error: Exception) -> str:
    last = chain(error)[-1]
    return shortened(str(last)) or type(last).__name__
