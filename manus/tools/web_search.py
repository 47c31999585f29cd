"""`web_search`: query engines in order until one has results, and read the result pages.

Engines with an API key or an address are queried through their API, all others through `ddgs`,
which queries several concurrently.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from itertools import groupby
from typing import Any, ClassVar, NamedTuple

from pydantic import BaseModel, Field, SecretStr
from typing_extensions import override

from manus.calls.base import AgentTool, Approval, Arguments
from manus.calls.result import Observation
from manus.calls.session import Session, get_egress_proxy
from manus.config.browser_settings import SearchSettings
from manus.prompts.browser import SEARCH
from manus.prompts.sources import WEB
from manus.sandbox.egress_proxy import EgressProxy
from manus.state.errors import ToolError
from manus.state.text import flat, one_line
from manus.tools.web.excerpt import excerpt

_API_SETTINGS = {"tavily": "tavily_api_key", "brave_api": "brave_api_key", "searxng": "searxng_url"}
"""Engines that are queried through their own API, each with the setting that it needs."""
_TAVILY = "https://api.tavily.com/search"
_BRAVE = "https://api.search.brave.com/res/v1/web/search"
SEARCH_ENGINES = "web-search"
"""Stands for the engines' hosts in rules about what is sent: `host(web-search)`."""
_MAX_RESULTS = 20
_MAX_SNIPPET = 400
_PAGE_CHARACTERS = 2_500
_READ_SECONDS = 15.0
_MAX_CONCURRENT = 5
_FAILURES = (ToolError, ValueError, TypeError, AttributeError)
"""Errors of an engine that is unreachable or returns an unexpected response."""


class WebSearchArgs(Arguments):
    """Arguments of `web_search`."""

    query: str = Field(description="What to search for", min_length=1)
    num_results: int = Field(5, ge=1, le=_MAX_RESULTS, description="Number of results")
    lang: str = Field("en", description="Two-letter code")
    country: str = Field("us", description="Two-letter code")
    fetch_content: bool = Field(False, description="Also return the text of the pages")


class WebSearch(AgentTool):
    """The web search tool."""

    name: str = "web_search"
    description: str = SEARCH
    summary: ClassVar[str] = "search the web"
    args_schema: type[BaseModel] = WebSearchArgs
    time_limit: ClassVar[float] = 300.0
    without_effect: ClassVar[bool] = True

    @override
    def approval(self, args: dict[str, Any]) -> Approval:
        return Approval(hosts=(SEARCH_ENGINES,))

    @override
    async def observe(self, **arguments: Any) -> Observation:
        return Observation(await search(self.session, WebSearchArgs(**arguments)), source=WEB)


class Result(NamedTuple):
    """One search result."""

    title: str
    url: str
    snippet: str
    text: str = ""
    """An excerpt of its page for the query, or why there is none."""


Results = list[Result]


async def search(session: Session, query: WebSearchArgs) -> str:
    """Search the web and render the results.

    Raises:
        ToolError: no engine had results; the message states the reason for each.
    """
    proxy = await get_egress_proxy(session)
    settings = session.settings.search
    failures: list[str] = []
    for name in _select_engines(settings):
        results: Results = []
        reason = "no results"
        ask_engine = _ask_api if name in _API_SETTINGS else _ask_ddgs
        try:
            async with asyncio.timeout(settings.timeout + 1):
                results = (await ask_engine(name, settings, proxy, query))[: query.num_results]
        except TimeoutError:
            reason = f"no response within {settings.timeout:g} s"
        except _FAILURES as error:  # try the next engine
            reason = flat(str(error)).rstrip(".")[:160] or type(error).__name__
        if results:
            if query.fetch_content:
                results = await _read_pages(proxy, results, query.query)
            session.egress_guard.read(str(results))
            return _render(name, query.query, results, failures)
        failures.append(f"{name}: {reason}")
    if not failures:
        raise ToolError("No search engine is available: none of `search.engines` is configured.")
    error_to_raise = ToolError(
        f'The search for "{query.query}" had no results ({"; ".join(failures)}). Try other words.'
    )
    error_to_raise.source = WEB  # the message quotes the engines
    raise error_to_raise


def _select_engines(settings: SearchSettings) -> list[str]:
    """Return the configured engines in order; adjacent engines of `ddgs` form one entry."""
    engines: list[str] = []
    for has_api, names in groupby(settings.engines, _API_SETTINGS.__contains__):
        if has_api:
            engines += [name for name in names if getattr(settings, _API_SETTINGS[name])]
        else:
            engines.append(", ".join(names))
    return engines


async def _ask_api(
    name: str, settings: SearchSettings, proxy: EgressProxy, query: WebSearchArgs
) -> Results:
    """Query an engine through its own API."""
    from manus.tools.web.reader import fetch  # imports an HTTP client, and not every run searches

    setting = getattr(settings, _API_SETTINGS[name])
    key = setting.get_secret_value() if isinstance(setting, SecretStr) else ""
    parameters: dict[str, Any] = {"q": query.query}
    headers = {}
    method = "GET"
    placement = "params"
    if name == "tavily":
        method = "POST"
        url = _TAVILY
        placement = "json"
        headers = {"Authorization": f"Bearer {key}"}
        parameters = {
            "query": query.query,
            "max_results": query.num_results,
            "search_depth": "basic",
        }
    elif name == "brave_api":
        url = _BRAVE
        headers = {"X-Subscription-Token": key}
        parameters |= {"count": query.num_results, "country": query.country.upper()}
        parameters |= {"search_lang": query.lang}
    else:
        url = setting.rstrip("/").removesuffix("/search") + "/search"
        parameters |= {"format": "json", "language": query.lang}
    options: dict[str, Any] = {"headers": headers, placement: parameters}
    response = await fetch(proxy, method, url, settings.timeout, **options)
    try:
        content = json.loads(response.data)
    except (ValueError, RecursionError):
        raise ToolError("its response is not JSON") from None
    return _parse_results((content.get("web") or content).get("results") or [])


async def _ask_ddgs(
    names: str, settings: SearchSettings, proxy: EgressProxy, query: WebSearchArgs
) -> Results:
    """Query engines concurrently through `ddgs`."""
    from ddgs import DDGS
    from ddgs.exceptions import DDGSException

    mark = proxy.incidents.count
    client = DDGS(proxy=proxy.url, timeout=max(1, round(settings.timeout)))
    options: Any = {
        "region": f"{query.country}-{query.lang}".lower(),
        "max_results": query.num_results,
        "backend": names,
    }
    try:
        return _parse_results(await asyncio.to_thread(client.text, query.query, **options))
    except DDGSException as error:
        reasons = dict.fromkeys(incident.reason for incident in proxy.incidents.since(mark))
        if not reasons and "no results" in str(error).lower():
            return []
        raise ToolError(" ".join(reasons) or str(error)) from None


def _parse_results(rows: Iterable[dict[str, Any]]) -> Results:
    """Parse results; each engine has its own field names."""
    results: Results = []
    for row in rows:
        url = str(row.get("url") or row.get("href") or "")
        snippet = row.get("content") or row.get("description") or row.get("body") or ""
        if url.startswith(("http://", "https://")):
            title = flat(str(row.get("title") or ""))
            results.append(Result(title, url, one_line(str(snippet), _MAX_SNIPPET)))
    return results


async def _read_pages(proxy: EgressProxy, results: Results, query: str) -> Results:
    """Add excerpts of their pages to the results."""
    from manus.tools.web.reader import read_page

    semaphore = asyncio.Semaphore(_MAX_CONCURRENT)

    async def read(result: Result) -> Result:
        async with semaphore:
            try:
                page = await read_page(proxy, result.url, _READ_SECONDS)
            except ToolError as error:
                return result._replace(text=f"({error})")
        text = page.text.strip() or "(The page has no text without a browser.)"
        selection = await asyncio.to_thread(excerpt, text, query, _PAGE_CHARACTERS)
        return result._replace(text=selection)

    return list(await asyncio.gather(*(read(result) for result in results)))


def _render(engine: str, query: str, results: Results, failures: list[str]) -> str:
    lines = [f'Results for "{query}" ({engine}):']
    for number, result in enumerate(results, 1):
        lines.append(f"\n{number}. {result.title or '(no title)'}\n   {result.url}")
        if result.snippet:
            lines.append(f"   {result.snippet}")
        if result.text:
            lines.append(f"\n{result.text}")
    if failures:
        lines.append("\nTried before: " + "; ".join(failures) + ".")
    return "\n".join(lines)
