"""Programs that run any LangGraph graph: their contexts, the file that names graphs, results."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Command

from manus.graph.inputs import to_context
from manus.state.errors import UsageError
from tests.helpers.agent import ScriptedAgent, thread_config
from tests.server import ScriptedServer, call, fail, text

ROOT = Path(__file__).resolve().parents[2]
RESERVED = {
    *("thread_id", "run_id", "assistant_id", "graph_id", "cron_id", "checkpoint_id"),
    *("checkpoint_ns", "checkpoint_map", "langgraph_auth_user", "langgraph_auth_user_id"),
    *("langgraph_auth_permissions", "langgraph_request_id", "__pregel_task_id", "user_id", "user"),
    *("__request_start_time_ms__", "x-request-id", "organization_ids", "user_display_name"),
}


def test_reserved_keys_of_a_configuration_are_ignored() -> None:
    context = to_context({**dict.fromkeys(RESERVED, "1"), "max_steps": 3})
    assert context == to_context({"max_steps": 3})


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("max_step", "did you mean `max_steps`?"),
        ("Max-Steps", "did you mean `max_steps`?"),
        ("aprove", "did you mean `approve`?"),
        ("colour", "Available fields: workspace, model"),
    ],
)
def test_a_misspelled_option_is_an_error(name: str, advice: str) -> None:
    with pytest.raises(UsageError, match=f"no field `{name}`") as error:
        to_context({name: 1})
    assert advice in str(error.value)
    with pytest.raises(UsageError):  # also where the server repeats it in the configuration
        to_context({name: 1}, () if name == "colour" else {name})


def test_other_keys_that_the_configuration_has_too_are_ignored() -> None:
    assert to_context({"colour": "red"}, {"colour"}) == to_context(None)


async def test_a_context_that_repeats_the_configuration(agent: ScriptedAgent) -> None:
    config = thread_config("t", "r1")
    config["configurable"]["locale"] = "de"
    context = {**config["configurable"], **agent.context().model_dump(exclude_unset=True)}
    agent.server.script(text("Hello."))
    result = await agent.graph.ainvoke({"request": "Hi."}, config, context=context)
    assert result["output"] == "Hello."


class TestFile:
    CONTENT = json.loads((ROOT / "langgraph.json").read_text())

    @pytest.mark.parametrize("name", CONTENT["graphs"])
    def test_it_names_files_in_the_project(self, name: str) -> None:
        path, _, attribute = self.CONTENT["graphs"][name]["path"].partition(":")
        file = (ROOT / path).resolve()
        assert path.startswith("./")
        assert file.is_relative_to(ROOT)
        assert attribute in file.read_text()

    async def test_a_run_works_in_the_current_folder(
        self, server: ScriptedServer, own_workspace: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Without a context, as programs call it that know only configurations."""
        folder = own_workspace / "project"
        folder.mkdir()
        monkeypatch.chdir(folder)
        monkeypatch.delenv("MANUS_WORKSPACE", raising=False)
        monkeypatch.setenv("MANUS_MODEL", "scripted")
        monkeypatch.setenv("MANUS_BASE_URL", server.base_url)
        path = ROOT / self.CONTENT["graphs"]["swe"]["path"].partition(":")[0]
        spec = importlib.util.spec_from_file_location("graphs_of_the_file", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)

        create = {"command": "create", "path": "a.txt", "file_text": "1"}
        ends = call("terminate", status="success", answer="Written.")
        server.script(call("str_replace_editor", create), ends)
        result = await module.swe.ainvoke(
            {"messages": [{"role": "user", "content": "Write a file."}]},
            {"configurable": {"thread_id": "t", "model_kwargs": {}, "max_steps": 7}},
        )
        assert result["messages"][-1].text == result["output"] == "Written."
        assert (folder / "a.txt").read_text() == "1"
        assert not (folder / "workspace").exists()
        assert module.swe.with_config(tags=["copied"]).is_named_in_file


@pytest.mark.parametrize("is_first", [True, False])
async def test_the_result_of_an_interrupted_run_is_truthful(
    agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch, is_first: bool
) -> None:
    """Whatever a node had written before, or the previous run on the thread."""
    monkeypatch.setenv("MANUS_RETRY_FOR", "0")
    if not is_first:
        await agent.run(text("Hello."))
    agent.server.script(fail(503))
    context = agent.context()
    result: Any = await agent.graph.ainvoke(
        {"request": "Do it."}, thread_config("t"), context=context
    )
    assert (result["status"], result["stop_reason"]) == ("idle", "interrupted")
    assert (result["success"], result["usage"]["model_calls"]) == (None, 0)
    assert result["output"] == result["__interrupt__"][0].value["question"]

    agent.server.script(call("ask_human", inquire="Which one?"))
    result = await agent.graph.ainvoke(Command(resume=""), thread_config("t"), context=context)
    assert (result["status"], result["stop_reason"]) == ("idle", "interrupted")
    assert (result["output"], result["usage"]["model_calls"]) == ("Which one?", 1)
