"""Settings of the browser, the web search and the egress rules."""

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
    """The browser. Times are in seconds, sizes in CSS pixels unless stated otherwise."""

    path: str | None = None
    """The browser's executable; unset: searched for. Environment: `MANUS_BROWSER_PATH`."""
    cdp_url: str | None = None
    """A running Chromium on this machine to use instead (`http://127.0.0.1:9222`), with a separate
    browser context. Environment: `MANUS_BROWSER_CDP_URL`."""
    profile_dir: str | None = None
    """A folder for cookies and logins that persist after the run. Unset: a fresh profile."""
    headless: bool = True
    """Whether the browser runs without a window."""
    sandbox: bool | None = None
    """Chromium's own sandbox: on or off. Unset: on if this machine and user allow it."""
    width: int = Field(1280, ge=320, le=7680)
    """Width of the viewport."""
    height: int = Field(800, ge=240, le=4320)
    """Height of the viewport."""
    locale: str = "en-US"
    """Language and country that pages are requested in."""
    page_characters: int = Field(8_000, ge=1_000)
    """Maximum characters of the page's text in the next-step prompt."""
    action_timeout: float = Field(30.0, ge=2.0)
    """Timeout of an action, whatever the page does."""
    pictures: bool = True
    """Whether a picture of each step is kept with the thread, unless secrets are configured."""
    dialogs: Literal["dismiss", "accept"] = "dismiss"
    """How `confirm` and `prompt` dialogs are answered if an action does not accept them."""


class SearchSettings(BaseModel, frozen=True, extra="forbid"):
    """The web search. Engines without their required key or address are skipped."""

    engines: tuple[SearchEngine, ...] = (
        "tavily",
        "brave_api",
        "searxng",
        "duckduckgo",
        "brave",
        "mojeek",
        "wikipedia",
    )
    """Search engines in order of use, until one has results. Those that need neither key nor
    address are queried together by `ddgs`."""
    timeout: float = Field(10.0, gt=0)
    """Timeout of one engine, in seconds."""
    tavily_api_key: SecretStr | None = None
    """Environment: `TAVILY_API_KEY`."""
    brave_api_key: SecretStr | None = None
    """Environment: `BRAVE_API_KEY`."""
    searxng_url: str | None = None
    """Address of a SearXNG instance that returns JSON. Environment: `MANUS_SEARXNG_URL`."""


class EgressSettings(BaseModel, frozen=True, extra="forbid"):
    """Hosts that the browser, the search and the page reader may connect to.

    An entry of `allow`, `deny` or `allow_private` is a host name (`example.com`, which covers the
    names below it), an address or a network (`10.1.0.0/16`), each optionally with a port
    (`localhost:8000`).
    """

    allow: tuple[str, ...] = ()
    """If not empty, no other hosts are allowed."""
    deny: tuple[str, ...] = ()
    """Never allowed, even if another list contains them."""
    allow_private: tuple[str, ...] = ()
    """Private, loopback and link-local addresses that are allowed; `*` for all."""
    upstream_proxy: str | None = None
    """`http://host:port` of the proxy that this network requires. The proxy resolves names, so only
    the names in `allow` apply to them."""
