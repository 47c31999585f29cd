"""A search: engines in order until one has results, and the pages found, read side by side.

Engines with a key or an address of their own are asked by their interface; all others by `ddgs`,
which asks several at once.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from urllib.parse import urlsplit

import httpx
from pydantic import SecretStr

from manus.prompts.sources import WEB
from manus.state.browser_settings import SearchSettings
from manus.state.errors import ToolError
from manus.tools.session import Session
from manus.tools.web.egress_proxy import EgressProxy, egress_of
from manus.tools.web.excerpt import excerpt
from manus.tools.web.reader import MEGABYTE, make_client, read_body, read_page

_SNIPPET = 400
_PAGE_CHARACTERS = 2_500
_READ_SECONDS = 15.0
_AT_ONCE = 5
_FAILURES = (ToolError, httpx.HTTPError, httpx.InvalidURL, ValueError, TypeError, AttributeError)
"""Of an engine that cannot be reached, or answers as nobody foresaw."""


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched for, where (two-letter codes), and how many results are wanted."""

    text: str
    count: int
    lang: str
    country: str


@dataclass(frozen=True, slots=True)
class Result:
    """One thing found."""

    title: str
    url: str
    snippet: str


Ask = Callable[[SearchSettings, EgressProxy, Query], Awaitable[list[Result]]]


async def search_text(session: Session, query: Query, fetch_content: bool = False) -> str:
    """Search, and put what came of it into words.

    Raises:
        ToolError: no engine had results; it says why for each.
    """
    proxy = await egress_of(session)
    settings = session.settings.search
    failures: list[str] = []
    for name, ask in _engines(settings):
        try:
            async with asyncio.timeout(settings.timeout + 1):
                results = distinct(await ask(settings, proxy, query))[: query.count]
        except (TimeoutError, httpx.TimeoutException):
            failures.append(f"{name}: no answer within {settings.timeout:g} s")
        except _FAILURES as error:  # the next engine is asked
            failures.append(f"{name}: {_line(error).rstrip('.')[:160] or type(error).__name__}")
        else:
            if results:
                texts = await _read(proxy, results, query.text) if fetch_content else []
                session.reach.read(f"{results} {texts}")
                return _rendered(name, query, results, texts, failures)
            failures.append(f"{name}: it found nothing")
    if not failures:
        raise ToolError(
            "No search engine can be asked: `search.engines` names none that is set up."
        )
    failed = ToolError(
        f'The search for "{query.text}" had no result ({"; ".join(failures)}). Try other words.'
    )
    failed.source = WEB  # the engines' own words
    raise failed


def _engines(settings: SearchSettings) -> list[tuple[str, Ask]]:
    """The engines that can be asked, in order; neighbours that `ddgs` asks are one."""
    own: dict[str, tuple[object, Ask]] = {
        "tavily": (settings.tavily_api_key, _tavily),
        "brave_api": (settings.brave_api_key, _brave),
        "searxng": (settings.searxng_url, _searxng),
    }
    found: list[tuple[str, Ask]] = []
    for is_own, names in groupby(settings.engines, own.__contains__):
        if is_own:
            found += [(name, own[name][1]) for name in names if own[name][0]]
        else:
            joined = ", ".join(names)
            found.append((joined, _ddgs(joined)))
    return found


async def _tavily(settings: SearchSettings, proxy: EgressProxy, query: Query) -> list[Result]:
    headers = {"Authorization": f"Bearer {_secret(settings.tavily_api_key)}"}
    asked = {"query": query.text, "max_results": query.count, "search_depth": "basic"}
    url = settings.tavily_url
    found = await _json(proxy, settings, "POST", url, headers=headers, json=asked)
    return _results(found.get("results"), "title", "url", "content")


async def _brave(settings: SearchSettings, proxy: EgressProxy, query: Query) -> list[Result]:
    headers = {"X-Subscription-Token": _secret(settings.brave_api_key)}
    country = query.country.upper()
    asked = {"q": query.text, "count": query.count, "country": country, "search_lang": query.lang}
    found = await _json(proxy, settings, "GET", settings.brave_url, headers=headers, params=asked)
    return _results((found.get("web") or {}).get("results"), "title", "url", "description")


async def _searxng(settings: SearchSettings, proxy: EgressProxy, query: Query) -> list[Result]:
    url = (settings.searxng_url or "").rstrip("/").removesuffix("/search") + "/search"
    asked = {"q": query.text, "format": "json", "language": query.lang}
    found = await _json(proxy, settings, "GET", url, params=asked)
    return _results(found.get("results"), "title", "url", "content")


async def _json(
    proxy: EgressProxy, settings: SearchSettings, method: str, url: str, **request: Any
) -> dict[str, Any]:
    mark = proxy.count
    try:
        async with (
            await make_client(proxy, settings.timeout) as client,
            client.stream(method, url, **request) as response,
        ):
            data, _ = await read_body(response, MEGABYTE)
    except httpx.ProxyError as error:
        refused = next((i.reason for i in proxy.since(mark) if i.refused), str(error))
        raise ToolError(refused) from None
    if response.status_code >= 400:
        proxy.raise_if_ours(data)
        about = " (is the key right?)" if response.status_code in {401, 403} else ""
        raise ToolError(f"it answered with HTTP {response.status_code}{about}")
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise ToolError("its answer is not JSON") from None
    return found if isinstance(found, dict) else {}


def _ddgs(backend: str) -> Ask:
    async def ask(settings: SearchSettings, proxy: EgressProxy, query: Query) -> list[Result]:
        from ddgs import DDGS
        from ddgs.exceptions import DDGSException

        mark = proxy.count
        client = DDGS(proxy=proxy.url, timeout=max(1, round(settings.timeout)))
        region = f"{query.country}-{query.lang}".lower()
        try:
            found = await asyncio.to_thread(
                client.text, query.text, region=region, max_results=query.count, backend=backend
            )
        except DDGSException as error:
            if reasons := dict.fromkeys(incident.reason for incident in proxy.since(mark)):
                raise ToolError(" ".join(reasons)) from None
            if "no results" in str(error).lower():
                return []
            raise ToolError(str(error)) from None
        return _results(found, "title", "href", "body")

    return ask


def _results(rows: Any, title: str, url: str, snippet: str) -> list[Result]:
    if not isinstance(rows, Iterable):
        return []
    return [
        Result(_line(row.get(title)), str(row[url]), _line(row.get(snippet)))
        for row in rows
        if isinstance(row, dict) and str(row.get(url) or "").startswith(("http://", "https://"))
    ]


def _line(text: Any) -> str:
    return " ".join(str(text or "").split())


def _secret(value: SecretStr | None) -> str:
    return value.get_secret_value() if value is not None else ""


def distinct(results: list[Result]) -> list[Result]:
    """The results without those that lead to the same page, in order."""
    seen: dict[str, Result] = {}
    for result in results:
        try:
            parts = urlsplit(result.url)
        except ValueError:
            continue
        host = parts.netloc.lower().removeprefix("www.")
        seen.setdefault(f"{host}{parts.path.rstrip('/')}?{parts.query}", result)
    return list(seen.values())


async def _read(proxy: EgressProxy, results: list[Result], about: str) -> list[str]:
    """The main text of each page, cut to what the query is about; or why there is none."""
    at_once = asyncio.Semaphore(_AT_ONCE)

    async def read(result: Result) -> str:
        async with at_once:
            try:
                page = await read_page(proxy, result.url, _READ_SECONDS)
            except ToolError as error:
                return f"({error})"
        text = page.text.strip() or "(The page has no text without a browser.)"
        return await asyncio.to_thread(excerpt, text, about, _PAGE_CHARACTERS)

    return list(await asyncio.gather(*(read(result) for result in results)))


def _rendered(
    engine: str, query: Query, results: list[Result], texts: list[str], failures: list[str]
) -> str:
    lines = [f'Results for "{query.text}" ({engine}):']
    for number, result in enumerate(results, 1):
        lines.append(f"\n{number}. {result.title or '(no title)'}\n   {result.url}")
        if snippet := result.snippet:
            lines.append(f"   {snippet if len(snippet) <= _SNIPPET else snippet[:399] + '…'}")
        if texts:
            lines.append(f"\n{texts[number - 1]}")
    if failures:
        lines.append("\nAsked before: " + "; ".join(failures) + ".")
    return "\n".join(lines)
