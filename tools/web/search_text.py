"""A search and what came of it, in words."""

from __future__ import annotations

from manus.state.errors import ToolError
from manus.tools.session import Session
from manus.tools.web.egress_proxy import egress_of
from manus.tools.web.search import Found, read_results, search
from manus.tools.web.search_engines import Query

_SNIPPET = 400


async def search_text(session: Session, query: Query, fetch_content: bool = False) -> str:
    """Search, and put what came of it into words.

    Raises:
        ToolError: no engine had results; it says why for each.
    """
    proxy = await egress_of(session)
    found = await search(session.settings.search, proxy, query)
    if not found.results:
        raise ToolError(_nothing(query, found))
    texts: list[str] = []
    if fetch_content:
        texts = await read_results(proxy, found.results, query.text)
    return _rendered(query, found, texts)


def _rendered(query: Query, found: Found, texts: list[str]) -> str:
    lines = [f'Results for "{query.text}" ({found.engine}):']
    for number, result in enumerate(found.results, 1):
        snippet = result.snippet
        snippet = snippet if len(snippet) <= _SNIPPET else snippet[: _SNIPPET - 1] + "…"
        lines.append(f"\n{number}. {result.title or '(no title)'}\n   {result.url}")
        if snippet:
            lines.append(f"   {snippet}")
        if texts:
            lines.append(f"\n{texts[number - 1]}")
    if found.failures:
        lines.append("\nAsked before: " + _reasons(found) + ".")
    return "\n".join(lines)


def _nothing(query: Query, found: Found) -> str:
    if not found.failures:
        return (
            "No search engine can be asked: `search.engines` names none, or only such that need "
            "a key or an address."
        )
    if all(reason == "it found nothing" for _, reason in found.failures):
        names = ", ".join(name for name, _ in found.failures)
        return f'Nothing was found for "{query.text}" ({names}); try other words.'
    return (
        f'The search for "{query.text}" failed: {_reasons(found)}. Try again later or other words.'
    )


def _reasons(found: Found) -> str:
    return "; ".join(f"{name}: {reason}" for name, reason in found.failures)
