"""Settings of everything that goes to the web: the browser, the search, the egress rules."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field, SecretStr

SearchEngine = Literal[
    "tavily",
    "brave_api",
    "searxng",
    "duckduckgo",
    "brave",
    "startpage",
    "yahoo",
    "mojeek",
    "wikipedia",
]


class BrowserSettings(BaseModel, frozen=True, extra="forbid"):
    """The browser. Times in seconds, sizes in pixels of the page unless it says otherwise."""

    path: str | None = None
    """The browser's program; looked for where none is given. Environment: `MANUS_BROWSER_PATH`."""
    cdp_url: str | None = None
    """A running Chromium on this machine to use instead (`http://127.0.0.1:9222`), in a context
    of its own. Environment: `MANUS_BROWSER_CDP_URL`."""
    profile_dir: str | None = None
    """A folder for cookies and logins that outlast the run; a fresh profile where none is given."""
    headless: bool = True
    """Without a window."""
    sandbox: bool | None = None
    """Chromium's own sandbox: on, off, or (None) on wherever this machine and user allow it."""
    width: int = Field(1280, ge=320, le=7680)
    """Of the page's visible part."""
    height: int = Field(800, ge=240, le=4320)
    """Of the page's visible part."""
    locale: str = "en-US"
    """Language and country that pages are asked for."""
    page_characters: int = Field(8_000, ge=1_000)
    """Upper limit of the page's text in the next-step prompt."""
    action_timeout: float = Field(30.0, ge=2.0)
    """Whatever a page does, an action answers within about this time."""
    dialogs: Literal["dismiss", "accept"] = "dismiss"
    """What becomes of `confirm` and `prompt` where an action does not say yes to them."""


class SearchSettings(BaseModel, frozen=True, extra="forbid"):
    """The web search. Engines that need a key or an address are left out while it is missing."""

    engines: tuple[SearchEngine, ...] = (
        "tavily",
        "brave_api",
        "searxng",
        "duckduckgo",
        "brave",
        "mojeek",
        "wikipedia",
    )
    """In the order in which they are asked, until one has results. Those without a key or an
    address of their own are asked together by `ddgs`."""
    timeout: float = Field(10.0, gt=0)
    """For one engine, in seconds."""
    tavily_api_key: SecretStr | None = None
    """Environment: `TAVILY_API_KEY`."""
    brave_api_key: SecretStr | None = None
    """Environment: `BRAVE_API_KEY`."""
    searxng_url: str | None = None
    """Address of a SearXNG instance that answers in JSON. Environment: `MANUS_SEARXNG_URL`."""


class EgressSettings(BaseModel, frozen=True, extra="forbid"):
    """Where the browser, the search and the page reader may go.

    An entry of `allow`, `deny` or `allow_private` is a host name (`example.com`, which covers the
    names below it), an address or a network (`10.1.0.0/16`), each with a port if wanted
    (`localhost:8000`).
    """

    allow: tuple[str, ...] = ()
    """If not empty, nothing else may be reached."""
    deny: tuple[str, ...] = ()
    """Never reached, whatever the other lists say."""
    allow_private: tuple[str, ...] = ()
    """Private, loopback and link-local places that may be reached all the same; `*` for all."""
    upstream_proxy: str | None = None
    """`http://host:port` of the proxy that this network asks for. Names are then resolved there, so
    that of `allow` only names count for them."""
