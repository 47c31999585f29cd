"""OpenTelemetry from the command line: what is sent to a collector, and what never is."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.flow.helpers import free, is_planner, is_step, is_summary, makes
from tests.manus.nursery import ROOT
from tests.manus.program import Program, wait_for_file
from tests.manus.tracing.receivers import Collector, Seen, away, silent
from tests.server import ScriptedServer, call, calls, fail, text

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
UNSENT = "manus: warning: Not all traces could be sent to"
LOCAL = {"server.address": "127.0.0.1", "gen_ai.provider.name": "openai"}


def to(collector: Collector) -> dict[str, str]:
    """With so much time at the end that all arrives, however busy the machine is."""
    return {ENDPOINT: collector.url, "MANUS_TRACING_WAIT": "60"}


def names(spans: list[Seen]) -> list[str]:
    return [span.name for span in spans]


def below(spans: list[Seen], parent: Seen) -> list[Seen]:
    return [span for span in spans if span.parent == parent.id]


def told(span: Seen) -> dict[str, Any]:
    """The attributes without those that differ from run to run."""
    left_out = ("server.port", "gen_ai.response.id", "gen_ai.tool.call.id")
    return {name: value for name, value in span.attributes.items() if name not in left_out}


def test_a_run_with_a_retry_and_a_tool_that_fails(
    manus: Program, server: ScriptedServer, collector: Collector
) -> None:
    server.script(
        fail(503, message="Shakespeare is out"),
        calls(
            call("bash", command="echo Goethe"),
            call("bash", command="echo Schiller; false", id="second"),
            call("nope", id="third"),
            text="I ask 李白.",
        ),
        text("Nobody."),
    )
    result = manus("run", "--thread", "t", "Who is Dante?", **to(collector))
    assert (result.code, result.out) == (0, "Nobody.\n")
    assert UNSENT not in result.err
    spans = collector.spans
    assert collector.services == {"manus"}
    [run] = [span for span in spans if not span.parent]
    assert {span.trace for span in spans} == {run.trace}
    assert all(run.began <= span.began <= span.ended <= run.ended for span in spans)
    made = below(spans, run)
    assert sorted(names(made)) == [
        "chat scripted",
        "chat scripted",
        "execute_tool bash",
        "execute_tool bash",
        "execute_tool nope",
    ]
    thread = {"gen_ai.conversation.id": "t"}
    sums = {"gen_ai.usage.input_tokens": 0, "gen_ai.usage.output_tokens": 0}
    chats = [span for span in made if span.kind == "client"]
    for chat in chats:
        sums = {name: sums[name] + chat.attributes[name] for name in sums}
    assert told(run) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "manus",
        "gen_ai.agent.description": run.attributes["gen_ai.agent.description"],
        "gen_ai.request.model": "scripted",
        **LOCAL,
        **thread,
        **sums,
        "gen_ai.usage.cache_read.input_tokens": 0,
        "manus.run.status": "finished",
        "manus.run.stop_reason": "answered",
        "manus.usage.model_calls": 2,
        "manus.usage.tool_calls": 3,
        "manus.run.success": True,
    }
    assert [chat.attributes["gen_ai.response.finish_reasons"] for chat in chats] == [
        ["tool_calls"],
        ["stop"],
    ]
    assert told(chats[0]) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "scripted",
        "gen_ai.response.model": "scripted",
        "gen_ai.response.finish_reasons": ["tool_calls"],
        "gen_ai.usage.input_tokens": chats[0].attributes["gen_ai.usage.input_tokens"],
        "gen_ai.usage.output_tokens": chats[0].attributes["gen_ai.usage.output_tokens"],
        "manus.model.role": "main",
        **LOCAL,
        **thread,
    }
    assert chats[0].attributes["server.port"] == int(server.base_url.split(":")[2].split("/")[0])
    [(retried, how)] = chats[0].events
    assert retried == "manus.retry"
    assert (how["manus.retry.attempt"], how["error.type"]) == (1, "503")
    tools = {span.attributes["gen_ai.tool.call.id"]: span for span in made if "tool" in span.name}
    assert told(tools["second"]) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "bash",
        "gen_ai.tool.type": "function",
        "manus.step": 1,
        "error.type": "tool_error",
        **thread,
    }
    assert tools["third"].attributes["error.type"] == "unknown_tool"
    failed = {span.attributes.get("gen_ai.tool.call.id") for span in spans if span.failed}
    assert failed == {"second", "third"}
    for word in ("Dante", "Goethe", "Schiller", "Shakespeare", "李白", "Nobody", "echo"):
        assert word.encode() not in collector.all_bytes


def test_content_where_it_is_asked_for(
    manus: Program, server: ScriptedServer, collector: Collector
) -> None:
    server.script(calls(call("bash", command="echo 杜甫"), text="I ask 李白."), text("没有人。"))
    result = manus("run", "Who is Dante?", **to(collector), **{CONTENT: "true"})
    assert result.code == 0
    run, first, tool, _ = collector.spans
    assert json.loads(run.attributes["gen_ai.input.messages"]) == [
        {"role": "user", "parts": [{"type": "text", "content": "Who is Dante?"}]}
    ]
    assert json.loads(run.attributes["gen_ai.output.messages"])[0]["parts"] == [
        {"type": "text", "content": "没有人。"}
    ]
    asked = json.loads(first.attributes["gen_ai.input.messages"])
    assert [message["role"] for message in asked] == ["system", "user", "user"]
    [said] = json.loads(first.attributes["gen_ai.output.messages"])
    assert (said["role"], said["finish_reason"]) == ("assistant", "tool_calls")
    assert said["parts"][0] == {"type": "text", "content": "I ask 李白."}
    assert said["parts"][1]["arguments"] == {"command": "echo 杜甫"}
    assert json.loads(tool.attributes["gen_ai.tool.call.arguments"]) == {"command": "echo 杜甫"}
    assert tool.attributes["gen_ai.tool.call.result"].startswith("杜甫")


def test_steps_of_a_plan_that_are_at_work_side_by_side(
    manus: Program, server: ScriptedServer, collector: Collector
) -> None:
    server.when(is_planner, makes(free("alpha"), free("beta")))
    for step in ("alpha", "beta"):
        command = f"touch {step}; until [ -e alpha ] && [ -e beta ]; do sleep 0.05; done"
        ends = calls(call("terminate", status="success"), text="Done.")
        server.when(is_step(step), call("bash", command=command, timeout=60), ends)
    server.when(is_summary, text("All is done."))
    result = manus("flow", "--thread", "t", "Do it.", **to(collector))
    assert result.code == 0, result.err
    spans = collector.spans
    [flow] = [span for span in spans if not span.parent]
    assert flow.name == "invoke_workflow flow"
    assert flow.attributes["gen_ai.workflow.name"] == "flow"
    assert (flow.attributes["manus.plan.steps"], flow.attributes["manus.plan.steps.completed"]) == (
        2,
        2,
    )
    assert flow.attributes["manus.run.stop_reason"] == "completed"
    assert {span.trace for span in spans} == {flow.trace}
    assert {span.attributes["gen_ai.conversation.id"] for span in spans} == {"t"}
    steps = [span for span in below(spans, flow) if span.name == "invoke_agent manus"]
    assert {span.attributes["manus.plan.step"] for span in steps} == {0, 1}
    first, second = steps
    assert first.began < second.ended
    assert second.began < first.ended
    roles = [span.attributes.get("manus.model.role") for span in below(spans, flow)]
    assert sorted(filter(None, roles)) == ["plan", "summary"]
    for span in steps:
        inner = names(below(spans, span))
        assert inner == [
            "chat scripted",
            "execute_tool bash",
            "chat scripted",
            "execute_tool terminate",
        ]
    assert len(spans) == 1 + 2 + 2 + 8


def test_after_a_kill_another_trace_of_the_same_conversation(
    manus: Program, server: ScriptedServer, collector: Collector
) -> None:
    environment = {**to(collector), "OTEL_BSP_SCHEDULE_DELAY": "50"}
    server.script(call("bash", command="echo $$ > pid; sleep 300"))
    with manus.start("run", "--thread", "t", "Do it.", environment=environment) as process:
        wait_for_file(manus.workspace / "pid")
        process.kill()
        assert process.end().code == -9
    server.script(text("Done."))
    assert manus("resume", "t", **environment).code == 0
    [run] = [span for span in collector.spans if span.name == "invoke_agent manus"]
    assert run.attributes["gen_ai.conversation.id"] == "t"
    assert names(below(collector.spans, run)) == ["execute_tool bash", "chat scripted"]
    before = [span for span in collector.spans if span.trace != run.trace]
    assert {span.attributes["gen_ai.conversation.id"] for span in before} <= {"t"}


def test_a_run_that_waits_for_a_person(
    manus: Program, server: ScriptedServer, collector: Collector
) -> None:
    server.script(call("ask_human", inquire="Which colour?"))
    manus("run", "--thread", "t", "Do it.", **to(collector))
    run, _, tool = collector.spans
    assert run.attributes["manus.run.stop_reason"] == "interrupted"
    assert [name for name, _ in run.events] == ["manus.interrupt"]
    assert [name for name, _ in tool.events] == ["manus.interrupt"]
    assert not any(span.failed for span in collector.spans)
    server.script(text("Red then."))
    assert manus("resume", "t", "--answer", "Red", **to(collector)).code == 0
    later = [span for span in collector.spans if span.trace != run.trace]
    assert names(later) == ["invoke_agent manus", "execute_tool ask_human", "chat scripted"]
    assert {span.attributes["gen_ai.conversation.id"] for span in later} == {"t"}


def test_a_model_that_cannot_be_asked(
    manus: Program, server: ScriptedServer, collector: Collector
) -> None:
    server.script(fail(401))
    assert manus("run", "Do it.", **to(collector)).code == 1
    run, chat = collector.spans
    assert (chat.failed, chat.attributes["error.type"]) == (True, "401")
    assert (run.failed, run.attributes["error.type"]) == (True, "model_error")
    assert run.attributes["manus.run.stop_reason"] == "error"


@pytest.mark.parametrize("place", [away, silent])
def test_a_collector_that_is_away_or_silent_costs_one_line(
    manus: Program, server: ScriptedServer, place: Any
) -> None:
    server.script(call("bash", command="echo hi"), text("Done."))
    with place() as url:
        result = manus("run", "Do it.", **{ENDPOINT: url})
    assert (result.code, result.out) == (0, "Done.\n")
    assert result.err.count("\nmanus: ") == result.err.count(UNSENT) == 1


def test_a_package_that_is_missing_is_one_line(
    manus: Program, server: ScriptedServer, collector: Collector, tmp_path: Path
) -> None:
    shadow = tmp_path / "shadow" / "opentelemetry"
    shadow.mkdir(parents=True)
    (shadow / "__init__.py").write_text("raise ImportError('there is none')\n")
    server.script(text("Done."))
    path = f"{shadow.parent}:{ROOT}"
    manus.environment |= {"PYTHONPATH": path, **to(collector)}
    result = manus.cold("run", "Do it.")
    assert (result.code, result.out) == (0, "Done.\n")
    [line] = [line for line in result.err.splitlines() if line.startswith("manus: ")]
    assert "pip install opentelemetry-sdk opentelemetry-exporter-otlp-proto-http" in line
    assert collector.posts == []


@pytest.mark.parametrize(
    "switch",
    [{"OTEL_SDK_DISABLED": "true"}, {"OTEL_TRACES_EXPORTER": "none"}, {ENDPOINT: " "}],
)
def test_switched_off(
    manus: Program, server: ScriptedServer, collector: Collector, switch: dict[str, str]
) -> None:
    server.script(call("bash", command="echo hi"), text("Done."))
    result = manus("run", "Do it.", **{**to(collector), **switch})
    assert (result.code, result.out) == (0, "Done.\n")
    assert "manus: " not in result.err
    assert collector.posts == []


def test_without_an_endpoint_nothing_is_imported_and_no_thread_begun(
    manus: Program, server: ScriptedServer
) -> None:
    server.script(call("bash", command="echo hi"), text("Done."))
    # LangSmith's client, which LangChain loads, looks for OpenTelemetry's SDK: that is not ours
    code = (
        "import sys, threading; from manus.cli import main; code = main(['run', 'Do it.']); "
        "heavy = ('opentelemetry.exporter', 'opentelemetry.proto', 'google.protobuf'); "
        "threads = [t.name for t in threading.enumerate()]; "
        "print(code, [name for name in sys.modules if name.startswith(heavy)], "
        "[name for name in threads if not name.startswith(('Main', 'asyncio'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=manus.home,
        env=manus.environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.stdout == "Done.\n0 [] []\n", done.stderr
