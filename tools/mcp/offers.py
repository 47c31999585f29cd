"""What a server may ask of us, its client: where to work, and questions that nobody can answer."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from mcp import types
from pydantic import FileUrl

from manus.state.mcp_settings import McpServer
from manus.tools.workspace import Workspace

_SHOWN = 500


class Offers:
    """Answers a server's own requests.

    Folders are only named to a program of ours: at an address they would say nothing, and tell
    something about this machine. A question to the user is declined, since a call that is under way
    cannot wait for a person as `ask_human` does; what was asked is kept for the model. Sampling is
    not offered, so the model is never at a server's disposal.
    """

    def __init__(self, server: McpServer, workspace: Workspace) -> None:
        self._folders = [_absolute(folder, workspace.root) for folder in server.folders]
        self._asked: list[str] = []

    def callbacks(self) -> dict[str, Any]:
        """For the SDK's `ClientSession`; what is not among them is not offered."""
        named = {"list_roots_callback": self._roots} if self._folders else {}
        return {"elicitation_callback": self._decline, **named}

    async def _roots(self, _: Any) -> types.ListRootsResult:
        roots = [types.Root(uri=FileUrl(path.as_uri()), name=path.name) for path in self._folders]
        return types.ListRootsResult(roots=roots)

    async def _decline(self, _: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        self._asked.append(" ".join(params.message.split())[:_SHOWN])
        return types.ElicitResult(action="decline")

    def take_asked(self) -> list[str]:
        """What has been asked, and declined, since the last time."""
        asked, self._asked = self._asked, []
        return asked


def _absolute(folder: str, root: Path) -> Path:
    """Without a look at the disk: the event loop must not wait for it."""
    return Path(os.path.normpath(root / Path(folder).expanduser()))
