"""`manus setup`: what it stores and which settings apply; and the report of `manus doctor`."""

import contextlib
import os
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from manus.cli.model_check import check_main_model
from manus.config.settings import Settings
from tests.browser.site import Answer, Site
from tests.cli.program import Program
from tests.server import Scripted, ScriptedServer, call, fail, text
from tests.server.products import Pages, llama_cpp, lm_studio, models, ollama, vllm
from tests.server.strict import PROFILES


def kept(program: Program) -> dict[str, Any]:
    file = program.home / ".config/manus/manus.toml"
    assert file.stat().st_mode & 0o777 == 0o600
    return tomllib.loads(file.read_text())


def set_before(program: Program, lines: str) -> Path:
    file = program.home / ".config/manus/manus.toml"
    file.parent.mkdir(parents=True)
    file.write_text(lines)
    return file


def choose(program: Program, answers: dict[str, str]) -> str:
    with program.terminal("setup") as terminal:
        for question, answer in answers.items():
            terminal.expect_last(question)
            terminal.type(f"{answer}\r")
        assert terminal.wait() == 0, terminal.text
        return terminal.text


READY = (call("report", word="ready"), text("done"))
"""Replies of a model that is being tried."""


def test_a_model_on_this_machine_is_found_and_used(bare: Program, server: ScriptedServer) -> None:
    server.script(*READY, text("Hello."))
    server.models = ["tiny", "large"]
    bare.environment["OLLAMA_HOST"] = server.base_url.removesuffix("/v1")
    bare.environment["OPENAI_API_KEY"] = "sk-not-for-this-machine"
    answers = {"Number [1]:": "1", "Model [tiny]:": "large"}
    output = choose(bare, {**answers, "workspace]:": "~/work", "[auto]:": "ask"})
    assert "Ollama on this machine: tiny, large" in output
    model = {"model": "large", "base_url": server.base_url, "api_key": "none"}
    assert kept(bare) == {**model, "workspace": "~/work", "approve": {"mode": "ask"}}
    assert bare("run", "say hello").out == "Hello.\n"
    assert (bare.home / "work").is_dir()
    assert {r.headers["authorization"] for r in server.requests} == {"Bearer none"}
    assert "made a tool call" in output


def test_a_server_on_this_machine_is_offered_in_one_key(
    bare: Program, server: ScriptedServer
) -> None:
    server.always(text("Hello."))
    server.models = ["nomic-embed-text", "tiny"]
    bare.environment["OLLAMA_HOST"] = server.base_url.removesuffix("/v1")
    with bare.terminal() as terminal:
        terminal.type("say hello")
        terminal.expect_last("  y tiny (Ollama)  n no  Enter answers")
        terminal.type("y\r")
        terminal.expect_last("> say hello")
        terminal.type("\r")
        terminal.expect("Finished")
        terminal.expect_last("> ")
        terminal.type("\x04")
        assert terminal.wait() == 0
    assert kept(bare) == {"model": "tiny", "base_url": server.base_url, "api_key": "none"}
    assert bare("run", "say hello").out == "Hello.\n"
    assert {request.body["model"] for request in server.requests} == {"tiny"}


def test_local_takes_the_server_of_this_machine(bare: Program, server: ScriptedServer) -> None:
    server.always(text("Hello."))
    server.models = ["tiny"]
    environment = {
        "OLLAMA_HOST": server.base_url.removesuffix("/v1"),
        "MANUS_BASE_URL": "http://127.0.0.1:9/v1",
        "MANUS_API_KEY": "sk-not-for-this-machine",
    }
    assert bare("run", "--local", "say hello", **environment).out == "Hello.\n"
    assert {r.headers["authorization"] for r in server.requests} == {"Bearer none"}
    assert not (bare.home / ".config/manus/manus.toml").exists()
    environment["OLLAMA_HOST"] = "127.0.0.1:9"
    refused = bare("run", "--local", "say hello", **environment)
    assert (refused.code, "No model server answers" in refused.err) == (2, True)


def test_a_key_is_stored_and_other_settings_stay(bare: Program, server: ScriptedServer) -> None:
    file = set_before(bare, '# mine\nmax_steps = 7\nmodel = "old"\n\n[approve]\nallow = ["bash"]\n')
    server.script(*READY)
    answers = {"Number [1]:": "5", "Address:": server.base_url, "yourself):": "sk-secret"}
    answers |= {"Model [scripted]:": "", "workspace]:": "", "[auto]:": ""}
    assert "sk-secret" not in choose(bare, answers)
    assert server.looks[0].headers["authorization"] == "Bearer sk-secret"
    model = {"model": "scripted", "base_url": server.base_url, "api_key": "sk-secret"}
    assert kept(bare) == {"max_steps": 7, **model, "approve": {"allow": ["bash"], "mode": "auto"}}
    assert file.read_text().startswith("# mine\n")


def test_what_is_configured_is_offered_first(bare: Program, server: ScriptedServer) -> None:
    stored = {"model": "scripted", "base_url": server.base_url, "api_key": "sk-secret"}
    set_before(bare, "".join(f'{name} = "{value}"\n' for name, value in stored.items()))
    server.models = ["other", "scripted"]
    server.script(*READY)
    answers = {"Number [1]:": "", "Model [scripted]:": "other", "workspace]:": "", "[auto]:": ""}
    assert f"1  scripted at {server.base_url} (as configured)" in choose(bare, answers)
    assert server.looks[0].headers["authorization"] == "Bearer sk-secret"
    assert kept(bare) == {**stored, "model": "other", "approve": {"mode": "auto"}}


def test_a_mistake_is_reported_where_it_is_made(bare: Program, server: ScriptedServer) -> None:
    server.script(*READY)
    with bare.terminal("setup") as terminal:
        for question, answer in (
            ("Number [1]:", "4\r"),
            ("Address:", "http://127.0.0.1:9/v1\r"),
            ("yourself):", "\r"),
            ("y try again  n keep it", "y\r"),
            ("Address [http://127.0.0.1:9/v1]:", f"{server.base_url}\r"),
            ("yourself):", "\r"),
            ("Model [scripted]:", "\r"),
            ("workspace]:", "/dev/null/work\r"),
            ("is not a folder that you can write to.", ""),
            ("workspace]:", "~/work\r"),
            ("[auto]:", "\r"),
        ):
            terminal.expect(question, last=question.endswith(":"))  # one is asked twice
            terminal.type(answer)
        assert terminal.wait() == 0, terminal.text
    assert "cannot be reached" in terminal.text
    assert kept(bare)["base_url"] == server.base_url
    assert kept(bare)["workspace"] == "~/work"


def test_neither_address_nor_model_may_be_empty(bare: Program, server: ScriptedServer) -> None:
    """The server lists nothing; an empty answer is asked for again."""
    server.models = []
    server.script(*READY)
    with bare.terminal("setup") as terminal:
        for question, answer in (
            ("Number [1]:", "4"),
            ("Address:", ""),
            ("http://localhost:8000/v1.\nAddress:", server.base_url),
            ("yourself):", ""),
            ("Model:", " "),
            ("Please enter a model name.\nModel:", "scripted"),
            ("workspace]:", ""),
            ("[auto]:", ""),
        ):
            terminal.expect_last(question)
            terminal.type(f"{answer}\r")
        assert terminal.wait() == 0, terminal.text
    assert kept(bare)["model"] == "scripted"


def test_a_model_that_calls_no_tool_is_reported_at_once(
    bare: Program, server: ScriptedServer
) -> None:
    server.models = ["chatty"]
    server.script(text("I am ready."), text("I said that I am ready."))
    bare.environment["OLLAMA_HOST"] = server.base_url.removesuffix("/v1")
    with bare.terminal("setup") as terminal:
        for question, answer in (
            *(("Number [1]:", "1"), ("Model [chatty]:", "")),
            *(("workspace]:", ""), ("[auto]:", "")),
        ):
            terminal.expect_last(question)
            terminal.type(f"{answer}\r")
        assert terminal.wait() == 1, terminal.text
        assert "without the requested tool call" in " ".join(terminal.text.split())
        assert "MANUS_TOOL_CALLING=prompted" in terminal.text


def test_the_folders_settings_and_the_environment_take_precedence(
    bare: Program, server: ScriptedServer
) -> None:
    server.script(text("Hello."), text("Hello."))
    set_before(bare, 'model = "mine"\napi_key = "sk-mine"\nbase_url = "http://127.0.0.1:9/v1"\n')
    (bare.home / "manus.toml").write_text(f'base_url = "{server.base_url}"\napi_key = "here"\n')
    assert bare("run", "x").code == 0
    assert server.requests[0].body["model"] == "mine"
    assert server.requests[0].headers["authorization"] == "Bearer here"
    (bare.home / "manus.toml").unlink()
    assert bare("run", "x", MANUS_BASE_URL=server.base_url).code == 0
    assert "sk-mine" not in str(server.requests[1].headers), "it belongs to another address"


def test_leaving_early_or_without_a_terminal_changes_nothing(bare: Program) -> None:
    assert bare("setup").code == 2
    with bare.terminal("setup") as terminal:
        terminal.expect_last("Number [1]:")
        terminal.type("\x04")
        assert terminal.wait() == 2
    assert not (bare.home / ".config").exists()


KEY = "sk-very-secret"


def _lines(out: str) -> dict[str, str]:
    return {line.split()[1]: line for line in out.splitlines() if line[:1].strip() and " " in line}


def test_ready(manus: Program, server: ScriptedServer) -> None:
    server.script(*READY)
    result = manus("doctor", MANUS_API_KEY=KEY)
    assert (result.code, result.err) == (0, "")
    lines = _lines(result.out)
    message = f"ok      model     scripted at {server.base_url} made a tool call"
    assert re.fullmatch(rf"{re.escape(message)} in \d+\.\d s", lines["model"])
    assert lines["threads"].endswith(f"stored in {manus.database} (created by the first run)")
    assert lines["workspace"].endswith(f"{manus.workspace} (created by the first run)")
    assert "file snapshots in" in lines["storage"]
    assert {"python", "browser", "fonts", "tracing"} <= set(lines)
    assert result.out.endswith("\nReady.\n")
    assert KEY not in result.out
    assert not manus.workspace.exists()


SPANS = {
    "LANGSMITH_TRACING": "true",
    "LANGSMITH_API_KEY": KEY,
    "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://me:{KEY}@127.0.0.1:9",
    "LANGSMITH_TRACING_MODE": "otel",
    "OTEL_EXPORTER_OTLP_TIMEOUT": "1",  # nothing receives the spans
}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems bring fonts")
def test_no_sandbox_no_fonts_no_such_model_and_where_traces_go(
    manus: Program, server: ScriptedServer, subtests: pytest.Subtests
) -> None:
    server.models = ["a", "b", "c", "d", "e", "f"]
    server.script(*READY)
    finder = manus.home / "bin" / "fc-list"
    finder.parent.mkdir()
    finder.write_text("#!/bin/sh\ncase $1 in *zh*) ;; *) echo a font;; esac\n")
    finder.chmod(0o755)
    path = f"{finder.parent}{os.pathsep}{os.environ['PATH']}"
    result = manus("doctor", MANUS_SANDBOX="none", PATH=path, **SPANS)
    assert result.code == 0
    for message in (
        "note    sandbox   none",
        "note    fonts     none for Chinese:",
        "fonts-noto-cjk",
        "note    model     scripted at",
        "does not include it: a, b, c, d, e and 1 more",
        "spans to http://127.0.0.1:9\n",
    ):
        with subtests.test(message=message):
            assert message in result.out
    assert KEY not in result.out


def test_everything_wrong_at_once(bare: Program, subtests: pytest.Subtests) -> None:
    (bare.home / "file").write_text("A file, and no folder or database.")
    result = bare(
        "doctor", MANUS_WORKSPACE="file/below", MANUS_CHECKPOINT="file", MANUS_MODEL="replay:none"
    )
    assert result.code == 1
    for message in (
        "MISSING model     The recording none",
        "not a SQLite database",
        "file/below is not writable",
    ):
        with subtests.test(message=message):
            assert message in result.out
    assert result.out.endswith("\nNot ready: model, threads, workspace.\n")
    assert _lines(result.out)["python"].startswith("ok ")


@pytest.mark.parametrize(
    ("status", "state", "message"),
    [(401, "missing", "rejected the API key (401)"), (503, "warning", "responded with status 503")],
)
def test_answers_of_other_kinds(status: int, state: str, message: str) -> None:
    with contextlib.closing(Site()) as site:
        site.pages["/v1/models"] = Answer(status=status)
        result = check_main_model(
            Settings(model="m", base_url=f"{site.base}/v1", api_key=SecretStr(KEY))
        )
    assert (result.state, message in result.text, KEY in result.text) == (state, True, False)


STRICT = {
    "mistral": '["stream_options", "user_after_tool", "call_ids"]',
    "llama.cpp": '["user_after_tool"]',
    "ollama": '["null_content"]',
}
"""What is learnt of strict servers, as the setting that `manus doctor` names."""


@pytest.mark.parametrize("name", STRICT)
def test_what_a_strict_server_refuses_is_found_and_named(
    manus: Program, server: ScriptedServer, name: str
) -> None:
    server.profile = PROFILES[name]
    server.script(*READY)
    result = manus("doctor")
    assert result.code == 0
    assert f"Set refuses = {STRICT[name]} to save" in result.out
    (manus.home / "manus.toml").write_text(f"refuses = {STRICT[name]}\n")
    server.refused.clear()
    server.script(*READY)
    assert "refuses" not in manus("doctor").out
    assert server.refused == []


NO_TOOLS = fail(400, message="registry.ollama.ai/library/gemma3:4b does not support tools")
TRIALS: dict[str, tuple[Scripted, int, tuple[str, ...]]] = {
    "no tools": (NO_TOOLS, 1, ("does not support tools", "MANUS_TOOL_CALLING=prompted")),
    "no such model": (fail(404), 1, ("does not have the model", "Available models: other")),
    "another tool": (call("other"), 1, ("without the requested tool call",)),
    "away": (fail(503), 0, ("note    model", "failed (503)")),
}


@pytest.mark.parametrize("trial", TRIALS)
def test_the_model_is_tried(
    manus: Program, server: ScriptedServer, trial: str, subtests: pytest.Subtests
) -> None:
    reply, code, words = TRIALS[trial]
    server.models = ["other"]
    server.always(reply)
    result = manus("doctor", MANUS_RETRY_FOR="0")
    assert (result.code, result.err) == (code, "")
    for message in words:
        with subtests.test(message=message):
            assert message in result.out


SMALL: dict[str, tuple[Pages, str]] = {
    "Ollama": (ollama("scripted", 4_096), "OLLAMA_CONTEXT_LENGTH=32768"),
    "llama.cpp": (llama_cpp("scripted", 4_096), "-c 32768"),
    "vLLM": (vllm("scripted", 4_096), "--max-model-len 32768"),
    "LM Studio": (lm_studio("scripted", 4_096), "--context-length 32768"),
}


@pytest.mark.parametrize("product", SMALL)
def test_a_small_window_is_reported_with_the_setting(
    manus: Program, server: ScriptedServer, product: str
) -> None:
    server.pages, setting = SMALL[product]
    server.script(*READY)
    result = manus("doctor")
    assert result.code == 0
    model = _lines(result.out)["model"]
    assert model.startswith("note    model     scripted at")
    assert "context window of 4,096 tokens" in model
    assert setting in result.out


def test_a_window_that_is_large_enough_is_named(manus: Program, server: ScriptedServer) -> None:
    server.pages = {"/v1/models": models("scripted", owner="vllm", max_model_len=65_536)}
    server.script(*READY)
    line = _lines(manus("doctor").out)["model"]
    assert line.startswith("ok ")
    assert "a context window of 65,536 tokens" in line


def test_an_empty_model_name_is_refused(manus: Program, subtests: pytest.Subtests) -> None:
    for name in ("ollama:", "openai: "):
        with subtests.test(name=name):
            result = manus("run", "--model", name, "x")
            assert result.code == 2
            assert "does not name a model" in result.err
    (manus.home / "manus.toml").write_text('model = ""\n')
    result = manus("run", "x", MANUS_MODEL="")
    assert result.code == 2
    assert "name a model" in result.err


def test_mcp_servers_are_checked_but_not_started(
    manus: Program, server: ScriptedServer, subtests: pytest.Subtests
) -> None:
    (manus.home / "manus.toml").write_text(
        '[mcp.here]\ncommand = "sh"\nargs = ["-c", "touch started"]\n'
        '[mcp.gone]\ncommand = "no-such-program"\n'
        f'[mcp.closed]\nurl = "https://tides.example/mcp?key={KEY}"\ntoken = "${{TIDES}}"\n'
    )
    server.script(*READY)
    result = manus("doctor")
    assert result.code == 0
    for message in ("mcp       here, gone, closed (", "`no-such-program`", "closed: ", " TIDES"):
        with subtests.test(message=message):
            assert message in result.out
    assert not (manus.home / "started").exists()
    assert KEY not in result.out
