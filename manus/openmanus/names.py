"""Which setting of OpenManus is which of ours, and why some have none. Data only."""

from __future__ import annotations

SAME = {
    "llm.max_input_tokens": "budget.tokens",
    "agent.max_steps": "max_steps",
    "browser.headless": "browser.headless",
    "browser.chrome_instance_path": "browser.path",
    "browser.cdp_url": "browser.cdp_url",
    "browser.proxy.server": "egress.upstream_proxy",
}
"""Taken over as it is, by its whole name."""

OF_A_MODEL = {
    "model": "model",
    "base_url": "base_url",
    "api_key": "api_key",
    "api_version": "api_version",
    "max_tokens": "max_tokens",
    "temperature": "temperature",
}
"""The same for `[llm]` and each `[llm.NAME]`."""

ENGINES = {"duckduckgo": "duckduckgo"}
"""Search engines that both have, in lower case."""

_MCP = "a server is configured by itself in `[mcp.NAME]`, and `manus mcp serve` is ours"
_PROXY = "a proxy that wants a name and a password cannot be used yet"
_SEARCH = "the model chooses it for each search (the arguments `lang` and `country`)"
_AGAIN = "an engine is asked again by itself (`search.retries`), then the next one, without a wait"
_CONTAINER = "code does not run in a container of Docker here"

WITHOUT = {
    "browser.disable_security": "the browser keeps its protection of one site from another",
    "browser.extra_chromium_args": "the browser's arguments are fixed; start one with your own and "
    "give its address as `browser.cdp_url`",
    "browser.wss_url": "a running browser is found by `browser.cdp_url`",
    "browser.max_content_length": "a page is read whole, and an observation is cut at the "
    "profile's `max_observe`",
    "browser.proxy.username": _PROXY,
    "browser.proxy.password": _PROXY,
    "search.retry_delay": _AGAIN,
    "search.max_retries": _AGAIN,
    "search.lang": _SEARCH,
    "search.country": _SEARCH,
    "search.keenable_api_key": "there is no such engine here",
    "sandbox": _CONTAINER,
    "mcp": _MCP,
    "runflow.use_data_analysis_agent": "a flow always has `data_analysis` to carry out steps",
    "daytona": "nothing runs in Daytona's cloud here",
}
"""Why a setting, or a whole section, has no counterpart."""

ONE_BUDGET = "a run has one budget for all its models: `budget.tokens`"
OF_ONE_RUN = "of one run, input and output together"
UNKNOWN = "it is no setting of OpenManus that is known here"
