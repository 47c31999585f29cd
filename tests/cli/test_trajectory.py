"""`manus export --format`: the trajectory of a thread, for graders and for training."""

import json
from typing import Any

import nbformat
import pytest
from google.protobuf import json_format  # type: ignore[import-untyped,unused-ignore]
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.cli.program import Program
from tests.flow.helpers import is_planner, is_step, is_summary, makes, succeeds
from tests.server import ScriptedServer, call, calls, text

SECRET = "sk-very-secret-value-1234"


def read(manus: Program, form: str) -> list[dict[str, Any]]:
    result = manus("export", "t", "out", "--format", form)
    assert result.code == 0, result.err
    return [json.loads(line) for line in (manus.home / "out").read_text("utf-8").splitlines()]


@pytest.fixture
def thread(manus: Program, server: ScriptedServer) -> Program:
    """Provide a thread with two requests, parallel calls and a failed one."""
    manus.environment["MANUS_API_KEY"] = SECRET
    server.script(
        calls(call("bash", command="echo 数"), call("bash", command=f"echo {SECRET}; exit 3")),
        call("terminate", status="success", answer="Both ran."),
    )
    assert manus("run", "--thread", "t", "Run both.").code == 0
    server.script(call("terminate", status="success", answer="Nothing else."))
    assert manus("run", "--thread", "t", "What else?").code == 0
    return manus


def test_atif(thread: Program) -> None:
    [trajectory] = read(thread, "atif")
    assert trajectory["schema_version"] == "ATIF-v1.7"
    assert trajectory["session_id"] == "t"
    assert trajectory["agent"]["name"] == "manus"
    steps = trajectory["steps"]
    assert [step["step_id"] for step in steps] == [*range(1, len(steps) + 1)]
    texts = [(step["source"], step["message"]) for step in steps]
    assert texts[0] == ("user", "Run both.")
    assert texts[3:5] == [("agent", "Both ran."), ("user", "What else?")]
    assert texts[-1] == ("agent", "Nothing else.")
    first = steps[1]
    ids = [each["tool_call_id"] for each in first["tool_calls"]]
    assert [each["source_call_id"] for each in first["observation"]["results"]] == ids
    assert "数" in first["observation"]["results"][0]["content"]
    assert first["tool_calls"][0]["arguments"] == {"command": "echo 数"}
    counted = [step["metrics"]["prompt_tokens"] for step in steps if "metrics" in step]
    assert trajectory["final_metrics"]["total_prompt_tokens"] == sum(counted) > 0
    assert SECRET not in json.dumps(trajectory)


def test_openai_jsonl(thread: Program) -> None:
    [line] = read(thread, "openai-jsonl")
    messages = line["messages"]
    roles = ["user", "assistant", "tool", "tool", "assistant", "tool"]
    roles += ["user", "assistant", "tool"]
    assert [message["role"] for message in messages] == roles
    ids = [each["id"] for each in messages[1]["tool_calls"]]
    assert [message["tool_call_id"] for message in messages[2:4]] == ids
    arguments = json.loads(messages[1]["tool_calls"][0]["function"]["arguments"])
    assert arguments == {"command": "echo 数"}
    assert SECRET not in json.dumps(line)


def read_spans(manus: Program) -> list[dict[str, Any]]:
    """Return the spans as a collector reads them, each with its attributes as a dictionary."""
    [line] = read(manus, "otel")
    json_format.ParseDict(line, ExportTraceServiceRequest())  # refuses unknown fields and types
    [resource] = line["resourceSpans"]
    [scope] = resource["scopeSpans"]
    spans: list[dict[str, Any]] = scope["spans"]
    for span in spans:
        values = {each["key"]: each["value"] for each in span["attributes"]}
        span["attributes"] = {key: next(iter(value.values())) for key, value in values.items()}
    return spans


def check_nesting(spans: list[dict[str, Any]]) -> None:
    by_id = {(span["traceId"], span["spanId"]): span for span in spans}
    assert len(by_id) == len(spans)
    for span in spans:
        assert int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"])
        if "parentSpanId" in span:
            parent = by_id[span["traceId"], span["parentSpanId"]]
            assert int(parent["startTimeUnixNano"]) <= int(span["startTimeUnixNano"])
            assert int(span["endTimeUnixNano"]) <= int(parent["endTimeUnixNano"])


def test_otel(thread: Program) -> None:
    spans = read_spans(thread)
    check_nesting(spans)
    names = ["invoke_agent manus", "chat scripted", "execute_tool bash", "execute_tool bash"]
    names += ["chat scripted", "execute_tool terminate"]
    names += ["invoke_agent manus", "chat scripted", "execute_tool terminate"]
    assert [span["name"] for span in spans] == names
    assert len({span["traceId"] for span in spans}) == 2, "a trace for each run"
    run, chat, first, second = spans[:4]
    assert [span["parentSpanId"] for span in spans[1:6]] == 5 * [run["spanId"]]
    assert chat["attributes"]["gen_ai.provider.name"] == "openai"
    [reply] = json.loads(chat["attributes"]["gen_ai.output.messages"])
    assert [part["type"] for part in reply["parts"]] == ["tool_call", "tool_call"]
    assert reply["finish_reason"] == "tool_calls"
    arguments = json.loads(first["attributes"]["gen_ai.tool.call.arguments"])
    assert arguments == {"command": "echo 数"}
    assert "数" in first["attributes"]["gen_ai.tool.call.result"]
    assert "error.type" not in first["attributes"]
    assert second["attributes"]["error.type"] == "tool_error"
    assert second["status"]["code"] == 2
    counted = [
        int(s["attributes"]["gen_ai.usage.input_tokens"]) for s in spans[:6] if s["kind"] == 3
    ]
    assert int(run["attributes"]["gen_ai.usage.input_tokens"]) == sum(counted) > 0
    assert SECRET not in json.dumps(spans)


def test_secrets_in_nested_json(manus: Program, server: ScriptedServer) -> None:
    """The arguments of calls are JSON inside of JSON, where a quote has three backslashes."""
    secret = 'pass"word-数-1234'
    manus.environment["OTHER_TOKEN"] = secret
    server.script(
        call("bash", command=f"echo '{secret}'"),
        call("terminate", status="success", answer="Printed."),
    )
    assert manus("run", "--thread", "t", "Print it.").code == 0
    for form in ("openai-jsonl", "otel"):
        [line] = read(manus, form)
        content = json.dumps(line, ensure_ascii=False).replace("\\", "")
        assert secret not in content, form
        assert "*" * len("word-") in content, form


def test_a_flow(manus: Program, server: ScriptedServer) -> None:
    server.when(is_planner, makes("First", "Second"))
    server.when(is_step("First"), call("bash", command="echo 1"), succeeds("first"))
    server.when(is_step("Second"), succeeds("second"))
    server.when(is_summary, text("All done."))
    assert manus("flow", "--thread", "t", "Do both.").code == 0
    lines = read(manus, "openai-jsonl")
    assert len(lines) == 2
    assert [len(line["messages"]) for line in lines] >= [2, 2]
    [trajectory] = read(manus, "atif")
    assert trajectory["steps"][0] == {"step_id": 1, "source": "user", "message": "Do both."}
    assert trajectory["steps"][-1]["message"] == "All done."
    spans = read_spans(manus)
    check_nesting(spans)
    flow, *agents = [span for span in spans if not span["name"].startswith(("chat", "execute"))]
    assert flow["name"] == "invoke_workflow flow"
    assert [agent["parentSpanId"] for agent in agents] == 2 * [flow["spanId"]]


def test_wrong_use(thread: Program) -> None:
    result = thread("export", "t", "out", "--format", "atif", "--files")
    assert result.code == 2
    assert "--format zip" in result.err
    result = thread("export", "t", "no/such/folder", "--format", "atif")
    assert result.code == 2
    assert "Cannot write" in result.err


def test_a_notebook(manus: Program, server: ScriptedServer) -> None:
    manus.environment["MANUS_API_KEY"] = SECRET
    code = f"x = 6 * 7\nprint(x, {SECRET!r})"
    server.script(
        calls(call("python_execute", code=code), call("bash", command="echo no")),
        call("terminate", status="success", answer="It is **42**."),
    )
    assert manus("run", "--thread", "t", "Compute.").code == 0
    [content] = read(manus, "ipynb")
    nbformat.validate(content)
    cells = [(cell["cell_type"], cell["source"]) for cell in content["cells"]]
    assert cells == [
        ("markdown", "## Compute."),
        ("code", code.replace(SECRET, "*" * len(SECRET))),
        ("markdown", "It is **42**."),
    ]
    [output] = content["cells"][1]["outputs"]
    assert "42" in output["text"]
    assert SECRET not in json.dumps(content)
