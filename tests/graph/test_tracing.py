"""Spans of a run from Python: whose child they are, what happens in them, how they end."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from manus.graph import build_agent
from manus.graph.tracing import set_up_tracing
from manus.state import tracing
from manus.state.errors import SettingsError
from tests.helpers.agent import TESTER, ScriptedAgent, thread_config
from tests.helpers.long_run import REQUEST, looker_on
from tests.server import call, calls, fail, hang, mentions, text


@pytest.fixture
def provider() -> TracerProvider:
    """The tracer provider of a program that has one of its own."""
    return TracerProvider(shutdown_on_exit=False)


@pytest.fixture
def exporter(provider: TracerProvider) -> Iterator[InMemorySpanExporter]:
    """What is recorded, with tracing on."""
    exporter = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracing.switch_on(provider.get_tracer("manus"), with_content=False)
    yield exporter
    tracing.switch_off()


def found(exporter: InMemorySpanExporter, beginning: str) -> list[ReadableSpan]:
    return [s for s in exporter.get_finished_spans() if s.name.startswith(beginning)]


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


async def test_inside_the_callers_span_and_not_around_what_the_caller_does(
    agent: ScriptedAgent, provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    tracer = provider.get_tracer("caller")
    agent.server.script(call("poll"), text("Done."))
    with tracer.start_as_current_span("outer") as outer:
        stream = agent.graph.astream(
            {"request": "Do it."}, thread_config("t"), context=agent.context(), stream_mode="values"
        )
        async for _ in stream:
            assert trace.get_current_span() is outer
            with tracer.start_as_current_span("between"):
                pass
        assert trace.get_current_span() is outer
    [run] = found(exporter, "invoke_agent tester")
    [top] = found(exporter, "outer")
    assert run.parent == top.context
    assert {s.parent.span_id for s in found(exporter, "between") if s.parent} == {
        top.context.span_id
    }
    inner = found(exporter, "chat ") + found(exporter, "execute_tool ")
    assert [s.parent for s in inner] == [run.context] * 3
    assert attributes(run)["manus.run.stop_reason"] == "answered"


async def test_without_a_checkpointer(agent: ScriptedAgent, exporter: InMemorySpanExporter) -> None:
    agent.server.script(text("Done."))
    await build_agent(TESTER).ainvoke({"request": "Do it."}, context=agent.context())
    [run] = found(exporter, "invoke_agent")
    told = attributes(run)
    assert "gen_ai.conversation.id" not in told
    assert (told["manus.run.stop_reason"], told["manus.usage.model_calls"]) == ("answered", 1)


async def test_runs_side_by_side_keep_to_themselves(
    agent: ScriptedAgent, exporter: InMemorySpanExporter
) -> None:
    for thread in "ab":
        script = (calls(call("poll"), call("keep", line=thread)), text("Done."))
        agent.server.when(mentions(f"Do {thread}."), *script)
    await asyncio.gather(
        *(
            agent.graph.ainvoke(
                {"request": f"Do {thread}."}, thread_config(thread), context=agent.context()
            )
            for thread in "ab"
        )
    )
    runs = {attributes(run)["gen_ai.conversation.id"]: run for run in found(exporter, "invoke")}
    assert set(runs) == {"a", "b"}
    for thread, run in runs.items():
        inner = [s for s in exporter.get_finished_spans() if s.parent == run.context]
        assert len(inner) == 4
        assert {attributes(s)["gen_ai.conversation.id"] for s in inner} == {thread}


async def test_a_circle_is_told_of(agent: ScriptedAgent, exporter: InMemorySpanExporter) -> None:
    repeated = [call("broken")] * 3
    await agent.run(*repeated, text("I stop."))
    [run] = found(exporter, "invoke_agent")
    assert [(e.name, dict(e.attributes or {})) for e in run.events] == [
        ("manus.circle", {"manus.circle.measure": "hint"})
    ]
    assert {attributes(s)["error.type"] for s in found(exporter, "execute_tool")} == {"tool_error"}


async def test_a_compaction_is_told_of_and_its_model_calls_are_inside(
    agent: ScriptedAgent, exporter: InMemorySpanExporter
) -> None:
    looks = [calls(call("look", place=place)) for place in range(1, 9)]
    overflow = fail(400, code="context_length_exceeded")
    await looker_on(agent).run(*looks, overflow, text("done"), request=REQUEST)
    [run] = found(exporter, "invoke_agent")
    [told] = [event for event in run.events if event.name == "manus.compaction"]
    assert (told.attributes or {})["manus.compaction.evicted"] == 14
    chats = found(exporter, "chat")
    assert all(chat.parent == run.context for chat in chats)
    assert {attributes(chat)["manus.model.role"] for chat in chats} == {"main", "summary"}
    [refused] = [chat for chat in chats if not chat.status.is_ok and not chat.status.is_unset]
    assert attributes(refused)["error.type"] == "400"


async def test_a_run_that_is_stopped_or_left_is_ended_and_no_error(
    agent: ScriptedAgent, exporter: InMemorySpanExporter
) -> None:
    agent.server.script(hang())
    task = asyncio.create_task(
        agent.graph.ainvoke({"request": "Do it."}, thread_config("t"), context=agent.context())
    )
    await asyncio.to_thread(agent.server.wait_for, 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    agent.server.script(call("poll"))
    stream = agent.graph.astream(
        {"request": "Do it."}, thread_config("u"), context=agent.context(), stream_mode="updates"
    )
    async for _ in stream:
        break
    await stream.aclose()  # type: ignore[attr-defined]
    stopped, left = found(exporter, "invoke_agent")
    for run in (stopped, left):
        assert [e.name for e in run.events] == ["manus.stopped"]
        assert run.status.is_unset
    assert not trace.get_current_span().is_recording()


async def test_off_there_is_nothing(agent: ScriptedAgent, exporter: InMemorySpanExporter) -> None:
    tracing.switch_off()
    await agent.run(call("broken"), text("Done."))
    assert exporter.get_finished_spans() == ()
    assert tracing.span("any", {}) is tracing.NOT_RECORDED


def test_set_up_without_a_place_to_send_to(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match="set OTEL_EXPORTER_OTLP_ENDPOINT"):
        set_up_tracing()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    with pytest.raises(SettingsError, match="not as grpc: set OTEL_EXPORTER_OTLP_PROTOCOL=http"):
        set_up_tracing()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "0")
    with pytest.raises(SettingsError, match="OTEL_ variable says: max_queue_size must be"):
        set_up_tracing()
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    set_up_tracing()
    assert not tracing.is_on()


def test_a_provider_of_the_programs_own_is_used() -> None:
    code = (
        "from opentelemetry import trace\n"
        "from opentelemetry.sdk.trace import TracerProvider\n"
        "from opentelemetry.sdk.trace.export import SimpleSpanProcessor\n"
        "from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter\n"
        "provider, exporter = TracerProvider(), InMemorySpanExporter()\n"
        "provider.add_span_processor(SimpleSpanProcessor(exporter))\n"
        "trace.set_tracer_provider(provider)\n"
        "from manus.graph.tracing import set_up_tracing\n"
        "from manus.state import tracing\n"
        "set_up_tracing()\n"
        "with trace.get_tracer('own').start_as_current_span('outer'):\n"
        "    with tracing.span('inner', {'a': 1}):\n"
        "        pass\n"
        "print([(s.name, s.parent is not None) for s in exporter.get_finished_spans()])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert done.stdout == "[('inner', True), ('outer', False)]\n", done.stderr
