"""`browser_use`: a real browser, one per run."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any, ClassVar
from urllib.parse import urlsplit

from pydantic import BaseModel
from typing_extensions import override

from manus.calls.base import AgentTool, Approval
from manus.calls.result import Observation
from manus.calls.session import Resource
from manus.config.packages import import_optional
from manus.config.safety_settings import names_in
from manus.prompts.approval import LOGIN
from manus.prompts.browser import USE
from manus.prompts.sources import WEB
from manus.sandbox.egress import is_loopback
from manus.state.errors import SettingsError, ToolError, ToolUnavailableError
from manus.tools.browser import NEEDS
from manus.tools.browser.arguments import (
    ACTING,
    ACTIONS,
    PICTURE,
    READING,
    SENDING,
    BrowserArgs,
)
from manus.tools.web_search import SEARCH_ENGINES, WebSearchArgs, search
from manus.workspace.workspace import WORKSPACE

_IS_FILE = re.compile(
    r"(/(?!/)|\.\.?/)[^?#\ud800-\udfff]*|(?!localhost/)([\w -]+/)*[\w .-]+\.(x?html?|svg|pdf)",
    re.IGNORECASE,
)
"""Addresses that can only mean files: `/tmp/ws/a.html`, `./a`, `site/a.html`."""


class BrowserUse(AgentTool):
    """The browser tool.

    If a next-step prompt shows the page (`session.page_is_prompted`), observations only describe
    the effect of an action; otherwise, such as over MCP, they also show the page.
    """

    name: str = "browser_use"
    description: str = USE
    summary: ClassVar[str] = (
        'use a real browser; the first call is {"action": "go_to_url", "url": "…"}'
    )
    example: ClassVar[dict[str, Any] | None] = {"action": "click_element", "index": 1}
    args_schema: type[BaseModel] = BrowserArgs
    time_limit: ClassVar[float] = 240.0

    @override
    def resources(self, args: dict[str, Any]) -> frozenset[Resource]:
        action = args.get("action")
        if action == "web_search":
            return frozenset()
        touched = {Resource("browser")}
        if self._address(str(args.get("url") or "")).startswith(
            "file:"
        ):  # after the file is written
            touched.add(Resource(WORKSPACE, write=False))
        path = args.get("path")
        if action in SENDING and path:
            touched.add(Resource(f"{WORKSPACE}/{path}", write=False))
        if action == "screenshot" or (action == "extract_content" and path):
            touched.add(Resource(f"{WORKSPACE}/{path or PICTURE}"))
        return frozenset(touched)

    @override
    def read_only(self, args: dict[str, Any]) -> bool:
        return args.get("action") in READING and not args.get("path")

    @override
    def acts_outside(self, args: dict[str, Any]) -> bool:
        if not (args.get("action") in ACTING or args.get("accept")):
            return False
        is_file = self._address("").startswith("file:")
        return not (is_file or is_loopback(self._host("")))

    @override
    def approval(self, args: dict[str, Any]) -> Approval:
        host = self._find_receiver(args)
        named = {**args, "index": self._find_label(args)}  # a page opened again has other numbers
        subject = str(args.get("action"))
        if subject != "web_search":
            subject += f" {self._host(str(args.get('url') or ''))}"
        return Approval(
            self._find_reason(args),
            (subject.rstrip(),),
            hosts=(host,) if host else (),
            identity=json.dumps(named, sort_keys=True, default=str),
            place=self._address(""),
        )

    @override
    def preview(self, args: dict[str, Any]) -> str:
        lines = [f"{name}: {value}" for name, value in args.items()]
        if label := self._find_label(args):
            lines.append(f"element: {label}")
        return "\n".join([*lines, f"page: {self._address('') or 'none'}"])

    def _find_label(self, args: dict[str, Any]) -> str:
        index = args.get("index")
        if self._browser is None or not isinstance(index, int):
            return ""
        return str(self._browser.active.numbering.labels.get(index, ""))

    @property
    def _browser(self) -> Any:
        """The browser, if a page is open."""
        browser = self.session.peek("browser")
        return browser if browser is not None and browser.active is not None else None

    def _find_reason(self, args: dict[str, Any]) -> str:
        guard = self.session.egress_guard
        if args.get("action") in SENDING and args.get("path"):
            return f"it uploads {args.get('path')} to {self._host('') or 'the page'}"
        names = names_in(str(args.get("text"))) if guard.why_tainted else []
        return f"it fills in the secret {' and '.join(names)}" if names else ""

    def _find_receiver(self, args: dict[str, Any]) -> str:
        """Return the host to which a call sends what the model composed."""
        url = str(args.get("url") or "")
        if args.get("action") == "web_search":
            return SEARCH_ENGINES
        if self._writes(args):
            return self._host("")
        is_navigation = args.get("action") in ("go_to_url", "open_tab") and url
        if is_navigation and self.session.egress_guard.is_composed(url):
            return self._host(url)
        return ""

    def _writes(self, args: dict[str, Any]) -> bool:
        """Return whether a call enters text that the model composed into the page."""
        if args.get("action") == "send_keys":
            from manus.tools.browser.fields import enters_data  # Playwright is loaded by now

            return enters_data(str(args.get("keys") or ""))
        answers = bool(args.get("accept") and args.get("text"))  # a prompt of the page
        return answers or args.get("action") == "input_text"

    def _host(self, url: str) -> str:
        """Return the host of an address; of the active page if the address is empty."""
        url = self._address(url)
        try:
            return urlsplit(url if "://" in url else f"//{url}").hostname or ""
        except ValueError:
            return ""

    def _address(self, url: str) -> str:
        if not url and self._browser is not None:
            url = str(self._browser.active.page.url)
        return self._file_address(url).strip().replace("\\", "/")  # as a browser reads it

    def _file_address(self, url: str) -> str:
        """Return the `file:` address of a path, since models name files as they do elsewhere."""
        is_file = _IS_FILE.fullmatch(url.strip())
        return (self.session.workspace.root / url.strip()).as_uri() if is_file else url

    @override
    async def observe(self, **values: Any) -> Observation:
        arguments = BrowserArgs(**values)
        if arguments.url:
            arguments.url = self._file_address(arguments.url)
        required = ACTIONS[arguments.action]
        if missing := [name for name in required if getattr(arguments, name) is None]:
            names = " and ".join(f"`{name}`" for name in missing)
            raise ToolError(f"`{arguments.action}` needs {names}.")
        if arguments.action == "web_search":
            query = WebSearchArgs(query=str(arguments.query))
            return Observation(await search(self.session, query), source=WEB)
        if self.session.settings.browser.profile_dir:
            self.session.egress_guard.note_private(LOGIN)
        # Importing Playwright is slow, and runs without a browser should not wait for it.
        try:
            module = await asyncio.to_thread(import_optional, "manus.tools.browser.act", *NEEDS)
        except SettingsError as error:
            raise ToolUnavailableError(str(error)) from error
        observation: Observation = await module.act(self.session, arguments)
        return observation
