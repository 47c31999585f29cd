"""web_search: engines in order, reasons, results, and the pages behind the results."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from pydantic import SecretStr

from manus.calls.invoke import observe_call
from manus.calls.result import Observation
from manus.calls.session import Session
from manus.config.browser_settings import EgressSettings, SearchSettings
from manus.config.settings import Settings
from manus.prompts.sources import WEB
from manus.tools import web_search
from manus.tools.web_search import WebSearch
from tests.browser.site import Answer, Request, Site
from tests.helpers.sessions import session_in

Search = Callable[..., Session]


@pytest.fixture
def search(tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch) -> Search:
    """Create sessions that search with engines on loopback."""
    monkeypatch.setattr(web_search, "_TAVILY", f"{site.base}/tavily")
    monkeypatch.setattr(web_search, "_BRAVE", f"{site.base}/brave")
    places = {
        "tavily_api_key": SecretStr("k-tavily"),
        "brave_api_key": SecretStr("k-brave"),
        "searxng_url": f"{site.base}/searx",
    }

    def make(*engines: str, **settings: object) -> Session:
        options = {"engines": engines, "timeout": 1.0, **places, **settings}
        allowed = EgressSettings(allow_private=(site.place,), deny=("duckduckgo.com", "mojeek.com"))
        searching = SearchSettings.model_validate(options)
        return session_in(tmp_path, settings=Settings(search=searching, egress=allowed))

    return make


async def ask(session: Session, **arguments: object) -> Observation:
    observation = await observe_call(WebSearch(session=session), {"query": "otters", **arguments})
    await session.close()
    return observation


def rows(site: Site, *names: str, **options: str) -> Answer:
    results = [{"title": n, "url": f"{site.base}/{n}", "content": f"About {n}"} for n in names]
    return Answer(json.dumps({"results": results, **options}), type="application/json")


ENGINES: list[tuple[str, str, dict[str, object]]] = [
    ("searxng", "/searx/search", {"q": "otters", "language": "de"}),
    ("brave_api", "/brave", {"q": "otters", "count": "2", "country": "AT", "search_lang": "de"}),
    ("tavily", "/tavily", {"query": "otters", "max_results": 2}),
]


async def test_an_engine_gets_the_requested_parameters(
    search: Search, site: Site, subtests: pytest.Subtests
) -> None:
    results = json.loads(rows(site, "a", "b", "c").body)["results"]
    listed = [{**item, "description": item["content"]} for item in results]
    answer = Answer(json.dumps({"results": results, "web": {"results": listed}}))
    for engine, path, expected in ENGINES:
        with subtests.test(engine=engine, path=path):
            site.pages[path] = answer
            message = await ask(search(engine), num_results=2, lang="de", country="at")
            request = site.requests[-1]
            parameters = (
                json.loads(request.body) if request.body else dict(parse_qsl(request.query))
            )
            assert {name: parameters.get(name) for name in expected} == expected
            assert [f"\n{n}. " in message.text for n in (1, 2, 3)] == [True, True, False]
            assert f"1. a\n   {site.base}/a\n   About a" in message.text
            assert "About b" in message.text


REASONS = {
    "401 Unauthorized": Answer("no", 401),
    "not JSON": Answer("[" * 100_000, type="application/json"),
    "brave_api: ": Answer(json.dumps({"web": ["odd"]}), type="application/json"),
    "no results": Answer(json.dumps({"web": {"results": []}})),
    "no complete response within 1 s": Answer("late", hold=threading.Event()),
}


async def test_a_failed_engine_falls_back_to_the_next_one(
    search: Search, site: Site, subtests: pytest.Subtests
) -> None:
    for reason, answer in REASONS.items():
        with subtests.test(reason=reason, answer=answer):
            site.pages["/brave"] = answer
            site.pages["/searx/search"] = rows(site, "a")
            message = await ask(search("brave_api", "searxng"))
            assert not message.is_error
            assert "(searxng)" in message.text
            assert reason in message.text.split("Tried before")[1]
    site.pages["/searx/search"] = Answer("no", 500)
    message = await ask(search("brave_api", "searxng"))
    assert message.is_error
    assert message.source == WEB, "text from an engine is web content, too"
    assert reason in message.text


async def test_engines_that_are_not_configured_are_skipped(search: Search, site: Site) -> None:
    site.pages["/searx/search"] = Answer('{"results": []}', type="application/json")
    message = await ask(search("tavily", "searxng", tavily_api_key=None))
    assert message.is_error
    assert site.paths() == ["/searx/search"]
    assert "`search.engines`" in (await ask(search("searxng", searxng_url=None))).text
    message = await ask(search("duckduckgo", "mojeek"))
    assert message.is_error
    assert "deny list" in message.text, "the engines of the library keep the egress rules"


async def test_pages_are_read_in_parallel(
    search: Search, site: Site, subtests: pytest.Subtests
) -> None:
    barrier = threading.Barrier(3)

    def page(request: Request) -> Answer:
        barrier.wait(20)  # no request is answered before all have arrived
        return Answer(f"The otter called {request.path} lives here.", type="text/plain")

    site.pages["/tavily"] = rows(site, "a", "b", "c", "gone")
    for name in "abc":
        site.pages[f"/{name}"] = page
    message = await ask(search("tavily"), fetch_content=True)
    for name in "abc":
        with subtests.test(name=name):
            assert f"The otter called /{name} lives here." in message.text
    assert f"(Cannot read {site.base}/gone: " in message.text
