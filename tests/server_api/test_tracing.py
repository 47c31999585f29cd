"""`langgraph dev` with an OTLP endpoint in its environment: what it serves is recorded."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from langgraph_sdk import get_client

from tests.manus.tracing.receivers import Collector
from tests.server import ScriptedServer, call, text
from tests.server_api.dev_server import serving
from tests.server_api.studio import Studio

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.fixture
def collector() -> Iterator[Collector]:
    collector = Collector()
    yield collector
    collector.close()


async def test_spans_of_a_served_run(
    clone: Path, tmp_path: Path, server: ScriptedServer, collector: Collector
) -> None:
    settings = {
        "MANUS_MODEL": "scripted",
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_BSP_SCHEDULE_DELAY": "100",
    }
    with serving(clone, tmp_path, **settings) as dev:
        async with get_client(url=dev.url, api_key=None) as client:
            studio = Studio(client, server, tmp_path / "workspace")
            thread = await studio.thread()
            state = await studio.run(thread, call("bash", command="echo hi"), text("Done."))
        collector.wait_for(4)
        log = dev.log
    assert state["output"] == "Done."
    assert "BlockingError" not in log
    assert "Blocking call to" not in log
    run, *inner = collector.spans
    assert run.name == "invoke_agent manus"
    assert [span.name for span in inner] == ["chat scripted", "execute_tool bash", "chat scripted"]
    assert {span.parent for span in inner} == {run.id}
    assert {span.attributes["gen_ai.conversation.id"] for span in collector.spans} == {thread}
    assert run.attributes["manus.run.stop_reason"] == "answered"
