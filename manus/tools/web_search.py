"""`web_search`: engines in order until one has results, and the pages found, read side by side.

Engines with a key or an address of their own are asked by their interface; all others by `ddgs`,
which asks several at once.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from itertools import groupby
from typing import Any, ClassVar, NamedTuple

from pydantic import BaseModel, Field, SecretStr
from typing_extensions import override

from manus.config.browser_settings import SearchSettings
from manus.execution.base import AgentTool, Arguments
from manus.execution.network.egress_proxy import EgressProxy, egress_of
from manus.execution.result import Observation
from manus.execution.session import Session
from manus.prompts.browser import SEARCH
from manus.prompts.sources import WEB
from manus.state.errors import ToolError
from manus.state.text import flat, one_line
from manus.tools.web.excerpt import excerpt

_OWN = {"tavily": "tavily_api_key", "brave_api": "brave_api_key", "searxng": "searxng_url"}
"""Engines that are asked by their own interface, each with the setting that it needs."""
_TAVILY = "https://api.tavily.com/search"
_BRAVE = "https://api.search.brave.com/res/v1/web/search"
_MAX_RESULTS = 20
_SNIPPET = 400
_PAGE_CHARACTERS = 2_500
_READ_SECONDS = 15.0
_AT_ONCE = 5
_FAILURES = (ToolError, ValueError, TypeError, AttributeError)
"""Of an engine that cannot be reached, or answers as nobody foresaw."""


class WebSearchArgs(Arguments):
    """Arguments of `web_search`."""

    query: str = Field(description="What to search for, as one would type it", min_length=1)
    num_results: int = Field(5, ge=1, le=_MAX_RESULTS, description="How many results are wanted")
    lang: str = Field("en", description="Two-letter code of the language of the results")
    country: str = Field("us", description="Two-letter code of the country to search from")
    fetch_content: bool = Field(False, description="Whether to give the text of the pages too")


class WebSearch(AgentTool):
    """Searches the web."""

    name: str = "web_search"
    description: str = SEARCH
    args_schema: type[BaseModel] = WebSearchArgs
    time_limit: ClassVar[float] = 300.0
    without_effect: ClassVar[bool] = True

    @override
    async def observe(self, **given: Any) -> Observation:
        return Observation(await search(self.session, WebSearchArgs(**given)), source=WEB)


class Result(NamedTuple):
    """One thing found."""

    title: str
    url: str
    snippet: str
    text: str = ""
    """The main text of its page, cut to what the query is about; or why there is none."""


Found = list[Result]


async def search(session: Session, query: WebSearchArgs) -> str:
    """Search, and put what came of it into words.

    Raises:
        ToolError: no engine had results; it says why for each.
    """
    proxy = await egress_of(session)
    settings = session.settings.search
    failures: list[str] = []
    for name in _engines(settings):
        results: Found = []
        why = "it found nothing"
        ask = _ask if name in _OWN else _ask_ddgs
        try:
            async with asyncio.timeout(settings.timeout + 1):
                results = (await ask(name, settings, proxy, query))[: query.num_results]
        except TimeoutError:
            why = f"no answer within {settings.timeout:g} s"
        except _FAILURES as error:  # the next engine is asked
            why = flat(str(error)).rstrip(".")[:160] or type(error).__name__
        if results:
            if query.fetch_content:
                results = await _read(proxy, results, query.query)
            session.egress_guard.read(str(results))
            return _rendered(name, query.query, results, failures)
        failures.append(f"{name}: {why}")
    if not failures:
        raise ToolError("No search engine can be asked: none of `search.engines` is set up.")
    failed = ToolError(
        f'The search for "{query.query}" had no result ({"; ".join(failures)}). Try other words.'
    )
    failed.source = WEB  # the engines' own words
    raise failed


def _engines(settings: SearchSettings) -> list[str]:
    """The engines that can be asked, in order; neighbours that `ddgs` asks are one."""
    found: list[str] = []
    for is_own, names in groupby(settings.engines, _OWN.__contains__):
        if is_own:
            found += [name for name in names if getattr(settings, _OWN[name])]
        else:
            found.append(", ".join(names))
    return found


async def _ask(
    name: str, settings: SearchSettings, proxy: EgressProxy, query: WebSearchArgs
) -> Found:
    """What an engine finds that has a key or an address of its own."""
    from manus.tools.web.reader import fetch  # with an HTTP client: not every run searches

    own = getattr(settings, _OWN[name])
    key = own.get_secret_value() if isinstance(own, SecretStr) else ""
    asked: dict[str, Any] = {"q": query.query}
    headers = {}
    method = "GET"
    where = "params"
    if name == "tavily":
        method = "POST"
        url = _TAVILY
        where = "json"
        headers = {"Authorization": f"Bearer {key}"}
        asked = {"query": query.query, "max_results": query.num_results, "search_depth": "basic"}
    elif name == "brave_api":
        url = _BRAVE
        headers = {"X-Subscription-Token": key}
        asked |= {"count": query.num_results, "country": query.country.upper()}
        asked |= {"search_lang": query.lang}
    else:
        url = own.rstrip("/").removesuffix("/search") + "/search"
        asked |= {"format": "json", "language": query.lang}
    more: dict[str, Any] = {"headers": headers, where: asked}
    answer = await fetch(proxy, method, url, settings.timeout, **more)
    try:
        found = json.loads(answer.data)
    except (ValueError, RecursionError):
        raise ToolError("its answer is not JSON") from None
    return _results((found.get("web") or found).get("results") or [])


async def _ask_ddgs(
    names: str, settings: SearchSettings, proxy: EgressProxy, query: WebSearchArgs
) -> Found:
    """What engines find that `ddgs` asks, all of them at once."""
    from ddgs import DDGS
    from ddgs.exceptions import DDGSException

    mark = proxy.incidents.count
    client = DDGS(proxy=proxy.url, timeout=max(1, round(settings.timeout)))
    more: Any = {
        "region": f"{query.country}-{query.lang}".lower(),
        "max_results": query.num_results,
        "backend": names,
    }
    try:
        return _results(await asyncio.to_thread(client.text, query.query, **more))
    except DDGSException as error:
        reasons = dict.fromkeys(one.reason for one in proxy.incidents.since(mark))
        if not reasons and "no results" in str(error).lower():
            return []
        raise ToolError(" ".join(reasons) or str(error)) from None


def _results(rows: Iterable[dict[str, Any]]) -> Found:
    """What engines have found, each in names of its own."""
    found: Found = []
    for row in rows:
        url = str(row.get("url") or row.get("href") or "")
        snippet = row.get("content") or row.get("description") or row.get("body") or ""
        if url.startswith(("http://", "https://")):
            title = flat(str(row.get("title") or ""))
            found.append(Result(title, url, one_line(str(snippet), _SNIPPET)))
    return found


async def _read(proxy: EgressProxy, results: Found, about: str) -> Found:
    """The results with the texts of their pages."""
    from manus.tools.web.reader import read_page

    at_once = asyncio.Semaphore(_AT_ONCE)

    async def read(result: Result) -> Result:
        async with at_once:
            try:
                page = await read_page(proxy, result.url, _READ_SECONDS)
            except ToolError as error:
                return result._replace(text=f"({error})")
        text = page.text.strip() or "(The page has no text without a browser.)"
        cut = await asyncio.to_thread(excerpt, text, about, _PAGE_CHARACTERS)
        return result._replace(text=cut)

    return list(await asyncio.gather(*(read(result) for result in results)))


def _rendered(engine: str, query: str, results: Found, failures: list[str]) -> str:
    lines = [f'Results for "{query}" ({engine}):']
    for number, result in enumerate(results, 1):
        lines.append(f"\n{number}. {result.title or '(no title)'}\n   {result.url}")
        if result.snippet:
            lines.append(f"   {result.snippet}")
        if result.text:
            lines.append(f"\n{result.text}")
    if failures:
        lines.append("\nAsked before: " + "; ".join(failures) + ".")
    return "\n".join(lines)
