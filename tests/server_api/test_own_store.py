"""`langgraph dev` without a model, with threads in our own store, named in langgraph.json."""

import asyncio
import json
import signal
from pathlib import Path

import pytest
from langgraph.types import Command
from langgraph_sdk import get_client

from manus import build_agent
from manus.config.context import Context
from manus.config.settings import Settings
from manus.threads.open_store import open_store
from tests.helpers.agent import thread_config
from tests.helpers.processes import until
from tests.server import ScriptedServer, call, text
from tests.server_api.dev_server import serving
from tests.server_api.studio import Studio, is_there
from tests.threads.postgres_server import PostgresServer, binaries

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(binaries() is None, reason="PostgreSQL's server is not installed"),
]


async def test_threads_in_postgres_outlive_the_server(
    postgres: PostgresServer, clone: Path, tmp_path: Path, server: ScriptedServer
) -> None:
    served = json.loads((clone / "langgraph.json").read_text())
    graph = served["graphs"]["agent"]
    served["graphs"] = {"agent": {**graph, "path": graph["path"].replace("./", f"{clone}/", 1)}}
    served["checkpointer"] = {"path": "manus.served.checkpointer"}
    del served["env"]
    (tmp_path / "langgraph.json").write_text(json.dumps(served))
    url = postgres.new_database()
    own = {"MANUS_CHECKPOINT": url, "PYTHONPATH": str(clone)}
    with serving(tmp_path, tmp_path, **own) as dev:
        async with get_client(url=dev.url, api_key=None) as client:
            studio = Studio(client, server, tmp_path / "workspace")
            result = await studio.run(None, context={})
            assert (result["status"], result["stop_reason"]) == ("error", "error")
            assert "OPENAI_API_KEY" in result["output"], "it starts, and reports what is missing"
            options = studio.context(model="scripted")
            thread = await studio.thread()
            await studio.run(
                thread,
                call("bash", command="echo $$ > pid; echo one > made.txt; X=5; cat made.txt"),
                call("ask_human", inquire="Which colour?"),
                context=options,
            )
            shell = await studio.pid()
            assert is_there(shell)
        await asyncio.to_thread(dev.end, signal.SIGINT)
        log = dev.log
    assert "PostgresStore" in log
    assert "BlockingError" not in log
    await until(lambda: not is_there(shell))
    async with open_store(Settings(checkpoint=url)) as store:
        assert await store.recent(10) == [thread]
        # another process resumes: the workspace is the same, the shell is a new one
        server.script(call("bash", command="cat made.txt; echo [$X]"), text("Blue."))
        outcome = await build_agent(checkpointer=store.saver).ainvoke(
            Command(resume="blue"), thread_config(thread), context=Context(**options)
        )
    tools = [m.text for m in outcome["messages"] if m.type == "tool"]
    assert tools == ["one\n[exit code 0]", "blue", "one\n[]\n[exit code 0]"]
    assert outcome["output"] == "Blue."
