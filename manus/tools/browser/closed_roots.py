"""Find closed shadow roots that the HTML of a page declares, as consent dialogs do.

No script of the page creates them, so that none of ours sees them: DevTools does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from playwright.async_api import CDPSession

_STORE = "function () { window[Symbol.for('manus.page')]?.roots.set(this.host, this); }"


async def store_closed_roots(cdp: CDPSession) -> None:
    """Add the closed roots of a page, and of its frames of the same process, to our store.

    Raises:
        PlaywrightError: the page is gone, or is changing its document.
    """
    document = await cdp.send("DOM.getDocument", {"depth": -1, "pierce": True})
    roots = [node for node in _list_nodes(document["root"]) if _is_closed_root(node)]
    await asyncio.gather(*(_store_root(cdp, node["backendNodeId"]) for node in roots))
    await cdp.send("DOM.disable")  # otherwise each change of the document is sent to us


def _is_closed_root(node: dict[str, Any]) -> bool:
    return node.get("shadowRootType") == "closed"


def _list_nodes(root: dict[str, Any]) -> Iterator[dict[str, Any]]:
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack += [*node.get("children", ()), *node.get("shadowRoots", ())]
        if "contentDocument" in node:
            stack.append(node["contentDocument"])


async def _store_root(cdp: CDPSession, node_id: int) -> None:
    resolved = await cdp.send("DOM.resolveNode", {"backendNodeId": node_id})
    call = {"objectId": resolved["object"]["objectId"], "functionDeclaration": _STORE}
    await cdp.send("Runtime.callFunctionOn", call)
