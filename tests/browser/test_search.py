"""web_search: engines in order, reasons, results, and the pages behind them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from pydantic import SecretStr

from manus.state.browser_settings import EgressSettings, SearchSettings
from manus.state.settings import Settings
from manus.tools.browser_use import BrowserUse
from manus.tools.call import observe_call
from manus.tools.result import Observation
from manus.tools.session import Session
from manus.tools.web.search import distinct
from manus.tools.web.search_engines import Result
from manus.tools.web_search import WebSearch
from manus.tools.workspace import Workspace
from tests.browser.site import Answer, Request, Site

Search = Callable[..., "Searching"]


class Searching:
    """A search against an engine on loopback."""

    def __init__(self, root: Path, site: Site, **settings: object) -> None:
        values = {
            "engines": ("tavily", "brave_api", "searxng"),
            "timeout": 1.0,
            "retries": 1,
            "tavily_api_key": SecretStr("k-tavily"),
            "tavily_url": f"{site.base}/tavily",
            "brave_api_key": SecretStr("k-brave"),
            "brave_url": f"{site.base}/brave",
            "searxng_url": f"{site.base}/searx",
            **settings,
        }
        workspace = Workspace(root)
        workspace.prepare()
        self.session = Session(
            workspace,
            settings=Settings(
                search=SearchSettings.model_validate(values),
                egress=EgressSettings(allow_private=(site.place,)),
            ),
        )

    async def ask(self, **arguments: object) -> Observation:
        tool = WebSearch(session=self.session)
        observation = await observe_call(tool, {"query": "otters", **arguments})
        await self.session.close()
        return observation


@pytest.fixture
def search(tmp_path: Path, site: Site) -> Search:
    return lambda **settings: Searching(tmp_path, site, **settings)


def rows(site: Site, *names: str, **more: str) -> Answer:
    found = [{"title": n, "url": f"{site.base}/{n}", "content": f"About {n}"} for n in names]
    return Answer(json.dumps({"results": found, **more}), type="application/json")


@pytest.mark.parametrize(
    ("engine", "path", "asked"),
    [
        ("searxng", "/searx/search", {"q": "otters", "language": "de"}),
        (
            "brave_api",
            "/brave",
            {"q": "otters", "count": "2", "country": "AT", "search_lang": "de"},
        ),
        ("tavily", "/tavily", {"query": "otters", "max_results": 2}),
    ],
)
async def test_an_engine_is_asked_for_what_was_asked_for(
    search: Search, site: Site, engine: str, path: str, asked: dict[str, object]
) -> None:
    answer = rows(site, "a", "b", "c")
    found = json.loads(answer.body)["results"]
    listed = [{**one, "description": one["content"]} for one in found]
    answer.body = json.dumps({"results": found, "web": {"results": listed}})
    site.pages[path] = answer
    said = await search(engines=(engine,)).ask(num_results=2, lang="de", country="at")
    [request] = site.requests
    seen = json.loads(request.body) if request.body else dict(parse_qsl(request.query))
    assert {name: seen.get(name) for name in asked} == asked
    assert [f"\n{n}. " in said.text for n in (1, 2, 3)] == [True, True, False]
    assert all(words in said.text for words in (f"1. a\n   {site.base}/a\n   About a", "About b"))


async def test_the_first_engine_that_answers(search: Search, site: Site) -> None:
    def tavily(request: Request) -> Answer:
        assert request.headers["Authorization"] == "Bearer k-tavily"
        assert json.loads(request.body)["query"] == "otters"
        return rows(site, "a", "b")

    site.pages["/tavily"] = tavily
    said = await search().ask()
    assert said.text == (
        f'Results for "otters" (tavily):\n\n1. a\n   {site.base}/a\n   About a\n\n'
        f"2. b\n   {site.base}/b\n   About b"
    )
    assert site.paths() == ["/tavily"]


async def test_fallback_with_a_reason_for_each_that_failed(search: Search, site: Site) -> None:
    site.pages["/tavily"] = Answer("no", 401)
    site.pages["/brave"] = Answer("later", 429)
    site.pages["/searx/search"] = rows(site, "a")
    said = await search().ask()
    assert not said.is_error
    assert "(searxng)" in said.text
    assert said.text.endswith(
        "Asked before: tavily: it refused the key or this client (HTTP 401); "
        "brave_api: it answered with HTTP 429."
    )
    # what may pass is tried again, what cannot is not
    assert site.paths() == ["/tavily", "/brave", "/brave", "/searx/search"]


async def test_an_answer_that_nobody_foresaw_leads_to_the_next_engine(
    search: Search, site: Site
) -> None:
    site.pages["/tavily"] = Answer("[" * 100_000, type="application/json")
    site.pages["/brave"] = Answer(json.dumps({"web": ["odd"]}), type="application/json")
    site.pages["/searx/search"] = rows(site, "a")
    said = await search().ask()
    assert not said.is_error
    assert "(searxng)" in said.text
    assert "tavily: it could not be asked or understood (RecursionError)" in said.text
    assert "brave_api: it could not be asked or understood (AttributeError)" in said.text


async def test_a_key_that_cannot_be_sent_leads_to_the_next_engine(
    search: Search, site: Site
) -> None:
    site.pages["/brave"] = Answer(json.dumps({"web": {"results": []}}), type="application/json")
    site.pages["/searx/search"] = rows(site, "a")
    said = await search(tavily_api_key=SecretStr("k-\u2026")).ask()
    assert not said.is_error
    assert "(searxng)" in said.text
    assert "\u2026" not in said.text


async def test_every_kind_of_failure(search: Search, site: Site) -> None:
    site.pages["/tavily"] = Answer("{", type="application/json")
    site.pages["/brave"] = Answer(json.dumps({"web": {"results": []}}), type="application/json")
    site.pages["/searx/search"] = Answer("late", hold=threading.Event())
    said = await search(retries=0).ask()
    assert said.is_error
    assert said.text == (
        'The search for "otters" failed: tavily: its answer is not JSON; brave_api: it found '
        "nothing; searxng: no answer within 1 s. Try again later or other words."
    )


async def test_engines_that_are_not_set_up_are_left_out(search: Search, site: Site) -> None:
    site.pages["/searx/search"] = Answer('{"results": []}', type="application/json")
    said = await search(tavily_api_key=None, brave_api_key=None).ask()
    assert said.text == 'Nothing was found for "otters" (searxng); try other words.'
    none = await search(tavily_api_key=None, brave_api_key=None, searxng_url=None).ask()
    assert "No search engine can be asked" in none.text


async def test_the_engines_of_the_library_keep_the_egress_rules(search: Search, site: Site) -> None:
    one = search(engines=("duckduckgo", "mojeek"), retries=0)
    one.session.settings = one.session.settings.model_copy(
        update={"egress": EgressSettings(deny=("duckduckgo.com", "mojeek.com"))}
    )
    said = await one.ask()
    assert said.is_error
    assert said.text.count("the host is on the deny list") == 2


async def test_an_engine_inside_is_refused_unless_allowed(search: Search, site: Site) -> None:
    one = search(engines=("searxng",), retries=0)
    one.session.settings = one.session.settings.model_copy(update={"egress": EgressSettings()})
    said = await one.ask()
    assert "egress.allow_private" in said.text
    assert site.requests == []


async def test_pages_are_read_in_parallel(search: Search, site: Site) -> None:
    barrier = threading.Barrier(3)

    def page(request: Request) -> Answer:
        barrier.wait(20)  # nobody is answered before all have asked
        return Answer(f"<p>The otter called {request.path} lives here. {'Words. ' * 30}</p>")

    site.pages["/tavily"] = rows(site, "a", "b", "c", "gone")
    for name in "abc":
        site.pages[f"/{name}"] = page
    said = await search().ask(fetch_content=True)
    for name in "abc":
        assert f"The otter called /{name} lives here." in said.text
    assert f"({site.base}/gone was not read: the server answered 404.)" in said.text


def test_the_same_page_twice_counts_once() -> None:
    urls = [
        "https://www.x.test/a/?utm_source=q&b=1",
        "http://x.test/a?b=1#part",
        "https://x.test/a?b=2",
        "not a url [",
    ]
    kept = [r.url for r in distinct([Result("t", url, "") for url in urls])]
    assert kept == [urls[0], urls[2], urls[3]]


async def test_as_an_action_of_the_browser_it_starts_none(search: Search, site: Site) -> None:
    site.pages["/tavily"] = rows(site, "a")
    session = search().session
    tool = BrowserUse(session=session)
    said = await observe_call(tool, {"action": "web_search", "query": "otters"})
    assert 'Results for "otters" (tavily)' in said.text
    assert session.peek("browser") is None
    assert tool.resources({"action": "web_search"}) == frozenset()
    await session.close()
