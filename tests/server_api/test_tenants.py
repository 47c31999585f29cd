"""Two users of one `langgraph dev`, separated as the page on deployment shows."""

import json
import re
from pathlib import Path

import httpx
import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import APIStatusError

from tests.helpers.pages import find_code_blocks
from tests.server import ScriptedServer, text
from tests.server_api.dev_server import ROOT, DevServer, serving
from tests.server_api.studio import Studio

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PAGE = (ROOT / "docs" / "deployment.md").read_text("utf-8")


def client_of(dev: DevServer, token: str) -> LangGraphClient:
    return get_client(url=dev.url, api_key=None, headers={"Authorization": f"Bearer {token}"})


async def test_users_do_not_see_each_others_threads(
    clone: Path, tmp_path: Path, server: ScriptedServer
) -> None:
    [tenants] = find_code_blocks(PAGE, "python")
    (tmp_path / "tenants.py").write_text(tenants)
    [auth] = re.findall(r'`("auth": .*?)` to `langgraph.json`', PAGE)
    served = json.loads((clone / "langgraph.json").read_text())
    graph = served["graphs"]["agent"]
    served["graphs"] = {"agent": {**graph, "path": graph["path"].replace("./", f"{clone}/", 1)}}
    del served["env"]
    (tmp_path / "langgraph.json").write_text(json.dumps(served | json.loads(f"{{{auth}}}")))
    tokens = {"ANN_TOKEN": "of ann", "BEN_TOKEN": "of ben", "PYTHONPATH": str(clone)}
    with serving(tmp_path, tmp_path, **tokens) as dev:
        async with client_of(dev, "of ann") as ann, client_of(dev, "of ben") as ben:
            studio = Studio(ann, server, tmp_path / "workspace")
            thread = await studio.thread()
            options = studio.context(model="scripted")
            result = await studio.run(thread, text("Hello, Ann."), context=options)
            assert result["output"] == "Hello, Ann."
            assert [each["thread_id"] for each in await ann.threads.search()] == [thread]
            assert await ben.threads.search() == []
            for attempt in (
                ben.threads.get(thread),
                ben.threads.get_state(thread),
                ben.runs.create(thread, "agent", input={"request": "What did she ask?"}),
                ben.threads.delete(thread),
            ):
                with pytest.raises(APIStatusError) as refusal:
                    await attempt
                assert refusal.value.status_code == 404
            path = f"{dev.url}/manus/threads/{thread}/messages"
            for token, statuses in (
                ("of ann", [201, 200]),
                ("of ben", [404, 404]),
                ("none", [401, 401]),
            ):
                headers = {"Authorization": f"Bearer {token}"}
                async with httpx.AsyncClient(headers=headers) as client:
                    sent = await client.post(path, json={"text": "Forget it."})
                    listed = await client.get(path)
                    assert [sent.status_code, listed.status_code] == statuses, token
        async with client_of(dev, "of nobody") as stranger:
            with pytest.raises(APIStatusError) as refusal:
                await stranger.threads.search()
            assert refusal.value.status_code == 401
