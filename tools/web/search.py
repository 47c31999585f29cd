"""A search: engines in order until one has results, and the pages found, read in parallel."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode, urlsplit

from manus.state.browser_settings import SearchSettings
from manus.state.errors import ToolError
from manus.tools.web.egress_proxy import EgressProxy
from manus.tools.web.reader import read_page
from manus.tools.web.relevance import cut_by_relevance
from manus.tools.web.search_engines import Ask, EngineError, Query, Result, engines

log = logging.getLogger("manus")

_PAGE_CHARACTERS = 2_500
_READ_SECONDS = 15.0
_AT_ONCE = 5
_TRACKING = ("utm_", "fbclid", "gclid", "msclkid", "mc_cid", "mc_eid")


@dataclass(slots=True)
class Found:
    """What came of a search."""

    engine: str = ""
    results: list[Result] = field(default_factory=list)
    failures: list[tuple[str, str]] = field(default_factory=list)
    """The engines that had nothing, each with the reason."""


async def search(settings: SearchSettings, proxy: EgressProxy, query: Query) -> Found:
    """Ask the engines in order until one has results."""
    found = Found()
    for name, ask in engines(settings, proxy):
        try:
            results = distinct(await _patiently(ask, query, settings))
        except EngineError as error:
            found.failures.append((name, str(error).rstrip(".")))
            continue
        if results:
            found.engine, found.results = name, results[: query.count]
            return found
        found.failures.append((name, "it found nothing"))
    return found


async def _patiently(ask: Ask, query: Query, settings: SearchSettings) -> list[Result]:
    for attempt in range(settings.retries + 1):
        try:
            # a little more than the engine's own limit, which says better what was slow
            async with asyncio.timeout(settings.timeout + 1):
                return await ask(query)
        except TimeoutError:
            failure = EngineError(f"no answer within {settings.timeout:g} s", passing=True)
        except EngineError as error:
            failure = error
        except Exception as error:  # what nobody foresaw must not keep the next from being asked
            log.info("an engine failed", exc_info=error)
            why = f"it could not be asked or understood ({type(error).__name__})"
            failure = EngineError(why, passing=False)
        if not failure.passing or attempt == settings.retries:
            break
        await asyncio.sleep(0.5 * 2**attempt)
    raise failure


def distinct(results: list[Result]) -> list[Result]:
    """The results without those that lead to the same page, in order."""
    seen: dict[str, Result] = {}
    for result in results:
        seen.setdefault(_key(result.url), result)
    return list(seen.values())


def _key(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    query = [p for p in parse_qsl(parts.query) if not p[0].lower().startswith(_TRACKING)]
    host = parts.netloc.lower().removeprefix("www.")
    return f"{host}{parts.path.rstrip('/')}?{urlencode(sorted(query))}"


async def read_results(proxy: EgressProxy, results: list[Result], about: str) -> list[str]:
    """The main text of each page, cut to what has to do with the query; or why there is none."""
    gate = asyncio.Semaphore(_AT_ONCE)

    async def read(result: Result) -> str:
        async with gate:
            try:
                page = await read_page(proxy, result.url, _READ_SECONDS)
            except ToolError as error:
                return f"({error})"
        text = page.text.strip()
        if not text:
            return "(The page has no text without a browser.)"
        return await asyncio.to_thread(cut_by_relevance, text, about, _PAGE_CHARACTERS)

    return list(await asyncio.gather(*(read(result) for result in results)))
