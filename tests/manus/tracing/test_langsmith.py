"""LangSmith by its own variables: what is sent there, and that it never costs a run anything."""

import json
from collections.abc import Iterator

import pytest

from tests.manus.program import Program
from tests.manus.tracing.receivers import Collector, LangSmith, silent
from tests.server import ScriptedServer, call, calls, text

UNSENT = "manus: warning: Not all traces could be sent to LangSmith"


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.close()


@pytest.fixture
def langsmith() -> Iterator[LangSmith]:
    made = LangSmith()
    yield made
    made.close()


def switched_on(url: str) -> dict[str, str]:
    return {"LANGSMITH_TRACING": "true", "LANGSMITH_API_KEY": "secret", "LANGSMITH_ENDPOINT": url}


def patiently(url: str) -> dict[str, str]:
    """For what has to arrive, however busy the machine is."""
    return {**switched_on(url), "MANUS_TRACING_WAIT": "60"}


def test_its_runs_are_those_of_the_graph(
    manus: Program, server: ScriptedServer, langsmith: LangSmith
) -> None:
    """In a new interpreter, where packages are loaded as a user has them."""
    server.script(
        calls(call("bash", command="echo one"), call("bash", command="echo 二"), text="I look."),
        text("Done."),
    )
    settings = patiently(langsmith.url)
    result = manus.cold("run", "--thread", "a thread", "Do it.", prefix=(), **settings)
    assert (result.code, result.out) == (0, "Done.\n")
    assert UNSENT not in result.err
    assert {post.headers["x-api-key"] for post in langsmith.posts} == {"secret"}
    runs = langsmith.runs
    [root] = [run for run in runs.values() if not run.get("parent_run_id")]
    assert (root["name"], root["run_type"]) == ("manus", "chain")
    metadata = root["extra"]["metadata"]
    assert (metadata["thread_id"], metadata["profile"]) == ("a thread", "manus")
    assert {run["trace_id"] for run in runs.values()} == {root["trace_id"]}
    assert all(run["end_time"] for run in runs.values())

    def below(kind: str) -> list[tuple[str, str]]:
        """Runs of a kind, with the node that they are under."""
        found = [run for run in runs.values() if run["run_type"] == kind]
        return sorted((run["name"], runs[run["parent_run_id"]]["name"]) for run in found)

    assert below("tool") == [("bash", "act"), ("bash", "act")]
    assert below("llm") == [("FastChatOpenAI", "think")] * 2
    nodes = [run["name"] for run in runs.values() if run.get("parent_run_id") == root["id"]]
    assert sorted(set(nodes)) == ["act", "stuck_check", "think"]
    outputs = [run["outputs"] for run in runs.values() if run["run_type"] == "tool"]
    assert any("二" in json.dumps(said, ensure_ascii=False) for said in outputs)


def test_a_server_that_is_silent_costs_one_line(manus: Program, server: ScriptedServer) -> None:
    server.script(call("bash", command="echo hi"), text("Done."))
    with silent() as url:
        result = manus("run", "Do it.", **switched_on(url))
    assert (result.code, result.out) == (0, "Done.\n")
    assert result.err.count("\nmanus: ") == result.err.count(UNSENT) == 1


def test_opentelemetry_instead(
    manus: Program, server: ScriptedServer, collector: Collector
) -> None:
    """LangSmith's client sends its runs as spans, to whichever collector is named."""
    server.script(call("bash", command="echo hi"), text("Done."))
    settings = {
        "LANGSMITH_TRACING": "true",
        "LANGSMITH_TRACING_MODE": "otel",
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "MANUS_TRACING_WAIT": "60",
    }
    result = manus.cold("run", "--thread", "a thread", "Do it.", prefix=(), **settings)
    assert (result.code, result.out) == (0, "Done.\n")
    spans = collector.spans
    assert {"manus", "think", "act", "stuck_check", "bash"} <= set(spans)
    assert spans["manus"]["langsmith.metadata.thread_id"] == "a thread"
    assert {post.path for post in collector.posts} == {"/v1/traces"}
