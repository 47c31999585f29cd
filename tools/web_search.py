"""`web_search`: results of search engines, with the pages' main text if asked."""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import Any, ClassVar

from pydantic import BaseModel, Field
from typing_extensions import override

from manus.prompts.browser import SEARCH
from manus.prompts.sources import WEB
from manus.tools.base import AgentTool, Arguments
from manus.tools.locks import Resource
from manus.tools.result import Observation

_MAX_RESULTS = 20


class WebSearchArgs(Arguments):
    """Arguments of `web_search`."""

    query: str = Field(description="What to search for, as one would type it", min_length=1)
    num_results: int = Field(5, ge=1, le=_MAX_RESULTS, description="How many results are wanted")
    lang: str = Field("en", description="Two-letter code of the language of the results")
    country: str = Field("us", description="Two-letter code of the country to search from")
    fetch_content: bool = Field(
        False, description="Whether to read the pages found and give their main text too"
    )


class WebSearch(AgentTool):
    """Searches the web."""

    name: str = "web_search"
    description: str = SEARCH
    args_schema: type[BaseModel] = WebSearchArgs
    time_limit: ClassVar[float] = 300.0

    @override
    def resources(self, args: dict[str, Any]) -> frozenset[Resource]:
        return frozenset()

    @override
    def read_only(self, args: dict[str, Any]) -> bool:
        return True

    @override
    async def observe(
        self,
        query: str,
        num_results: int = 5,
        lang: str = "en",
        country: str = "us",
        fetch_content: bool = False,
        **_: Any,
    ) -> Observation:
        # What it needs to reach engines and pages takes a while to load: not before it is used.
        await asyncio.to_thread(import_module, "manus.tools.web.search")
        from manus.tools.web.search import Query, search_text

        wanted = Query(query.strip(), num_results, lang, country)
        return Observation(await search_text(self.session, wanted, fetch_content), source=WEB)
