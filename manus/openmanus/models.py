"""`[llm]` of OpenManus, and its sections by name, as endpoints of ours."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from manus.openmanus import names
from manus.state.model_settings import provider_of

_DEPLOYMENT = re.compile(r"(?P<endpoint>.*)/openai/deployments/(?P<name>[^/]+)/?")
_PROVIDERS = {"azure": "azure", "aws": "bedrock"}
"""Where OpenManus speaks another protocol than OpenAI's, by its `api_type`."""
_INSTALL = "needs `make setup EXTRAS=bedrock`"
_REGION = "not used there either; the region comes from `AWS_REGION`"
_NO_KEY = "not used for Bedrock; the key comes from your AWS configuration"


class Value(NamedTuple):
    """What becomes of a setting: the name and value of ours, or no name and the reason."""

    theirs: str
    ours: str
    value: Any
    remark: str = ""


def model_values(own: Mapping[str, Any], merged: Mapping[str, Any], role: str) -> Iterator[Value]:
    """The settings of one section.

    Args:
        own: The section itself.
        merged: The section over `[llm]`, as OpenManus fills it up.
        role: The role that it becomes; empty for the main model.
    """
    kind = str(merged.get("api_type") or "").lower()
    provider = _PROVIDERS.get(kind, "openai")
    for theirs, value in own.items():
        if theirs in names.OF_A_MODEL and theirs != "model":
            yield _endpoint(theirs, value, provider)
        elif theirs not in ("model", "api_type"):
            why = names.ONE_BUDGET if theirs == "max_input_tokens" else names.UNKNOWN
            yield Value(theirs, "", None, why)
    if "model" in own or "api_type" in own or _deployment(own, provider):
        theirs = "model" if "model" in own else "api_type"
        model = str(_deployment(merged, provider) or merged.get("model") or "")
        yield Value(theirs, "model", _named(model, provider), _remark(provider, role))


def _endpoint(theirs: str, value: Any, provider: str) -> Value:
    ours = names.OF_A_MODEL[theirs]
    if provider == "bedrock" and theirs in ("base_url", "api_key", "api_version"):
        return Value(theirs, "", None, _NO_KEY if theirs == "api_key" else _REGION)
    if provider == "azure" and theirs == "base_url" and isinstance(value, str):
        match = _DEPLOYMENT.fullmatch(value.strip())
        return Value(theirs, ours, match["endpoint"] if match else value)
    if provider != "azure" and theirs == "api_version" and value:
        return Value(theirs, "", None, "only Azure OpenAI has versions of its interface")
    return Value(theirs, ours, value)


def _deployment(values: Mapping[str, Any], provider: str) -> str:
    """The deployment that the address of an Azure endpoint ends with, which is asked there."""
    if provider != "azure":
        return ""
    match = _DEPLOYMENT.fullmatch(str(values.get("base_url") or "").strip())
    return match["name"] if match else ""


def _named(model: str, provider: str) -> str:
    if not model or (provider == "openai" and provider_of(model) == "openai"):
        return model
    return f"{provider}:{model}"


def _remark(provider: str, role: str) -> str:
    said = [_INSTALL] if provider == "bedrock" else []
    if role:
        said.append(f'for profiles with `role = "{role}"`')
    return "; ".join(said)
