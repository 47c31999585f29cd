"""Engines that answer a query: by an interface where there is a key, else as a browser would."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

import httpx
from pydantic import SecretStr

from manus.state.browser_settings import SearchEngine, SearchSettings
from manus.tools.web.egress_proxy import EgressProxy
from manus.tools.web.reader import make_client


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


class EngineError(Exception):
    """An engine has no answer. `passing` says whether trying again may help."""

    def __init__(self, reason: str, *, passing: bool) -> None:
        super().__init__(reason)
        self.passing = passing


Ask = Callable[[Query], Awaitable[list[Result]]]


def engines(settings: SearchSettings, proxy: EgressProxy) -> list[tuple[str, Ask]]:
    """The engines that can be asked with these settings, in order."""
    by_key: dict[str, Ask | None] = {
        "tavily": _tavily(settings, proxy) if settings.tavily_api_key else None,
        "brave_api": _brave(settings, proxy) if settings.brave_api_key else None,
        "searxng": _searxng(settings, proxy) if settings.searxng_url else None,
    }
    made: list[tuple[str, Ask]] = []
    for name in settings.engines:
        ask = by_key[name] if name in by_key else _scraped(name, settings, proxy)
        if ask is not None:
            made.append((name, ask))
    return made


def _tavily(settings: SearchSettings, proxy: EgressProxy) -> Ask:
    async def ask(query: Query) -> list[Result]:
        body = {"query": query.text, "max_results": query.count, "search_depth": "basic"}
        found = await _json(
            proxy,
            settings,
            "POST",
            settings.tavily_url,
            headers={"Authorization": f"Bearer {_secret(settings.tavily_api_key)}"},
            json=body,
        )
        return _results(found.get("results"), "title", "url", "content")

    return ask


def _brave(settings: SearchSettings, proxy: EgressProxy) -> Ask:
    async def ask(query: Query) -> list[Result]:
        found = await _json(
            proxy,
            settings,
            "GET",
            settings.brave_url,
            headers={"X-Subscription-Token": _secret(settings.brave_api_key)},
            params={
                "q": query.text,
                "count": query.count,
                "country": query.country.upper(),
                "search_lang": query.lang,
            },
        )
        return _results((found.get("web") or {}).get("results"), "title", "url", "description")

    return ask


def _searxng(settings: SearchSettings, proxy: EgressProxy) -> Ask:
    address = (settings.searxng_url or "").rstrip("/")
    address = address if address.endswith("/search") else f"{address}/search"

    async def ask(query: Query) -> list[Result]:
        found = await _json(
            proxy,
            settings,
            "GET",
            address,
            params={"q": query.text, "format": "json", "language": query.lang},
        )
        return _results(found.get("results"), "title", "url", "content")

    return ask


async def _json(
    proxy: EgressProxy, settings: SearchSettings, method: str, url: str, **request: Any
) -> dict[str, Any]:
    mark = proxy.count
    try:
        async with await make_client(proxy, settings.timeout) as client:
            response = await client.request(method, url, **request)
    except httpx.TimeoutException:
        raise EngineError(f"no answer within {settings.timeout:g} s", passing=True) from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        refused = next((i for i in proxy.since(mark) if i.refused), None)
        why = refused.reason if refused else str(error) or type(error).__name__
        raise EngineError(why, passing=refused is None) from None
    status = response.status_code
    if status == 403 and any(i.reason == response.text for i in proxy.since(mark)):
        raise EngineError(response.text, passing=False)
    if status in {401, 403}:
        raise EngineError(f"it refused the key or this client (HTTP {status})", passing=False)
    if status >= 400:
        passing = status == 429 or status >= 500
        raise EngineError(f"it answered with HTTP {status}", passing=passing)
    try:
        found = response.json()
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise EngineError("its answer is not JSON", passing=False) from None
    return found if isinstance(found, dict) else {}


def _scraped(name: SearchEngine, settings: SearchSettings, proxy: EgressProxy) -> Ask:
    def search(query: Query) -> list[Result]:
        from ddgs import DDGS
        from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException

        client = DDGS(proxy=proxy.url, timeout=max(1, round(settings.timeout)))
        region = f"{query.country}-{query.lang}".lower()
        try:
            found = client.text(query.text, region=region, max_results=query.count, backend=name)
        except RatelimitException:
            raise EngineError("it limits the number of requests", passing=True) from None
        except TimeoutException:
            raise EngineError(f"no answer within {settings.timeout:g} s", passing=True) from None
        except DDGSException as error:
            if "no results" in str(error).lower():
                return []
            raise EngineError(_short(str(error)), passing=True) from None
        return _results(found, "title", "href", "body")

    async def ask(query: Query) -> list[Result]:
        mark = proxy.count
        try:
            return await asyncio.to_thread(search, query)
        except EngineError as error:
            incident = next(iter(proxy.since(mark)), None)
            if incident is None:
                raise
            raise EngineError(incident.reason, passing=not incident.refused) from error

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


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 160 else line[:159] + "…"


def _secret(value: SecretStr | None) -> str:
    return value.get_secret_value() if value is not None else ""
