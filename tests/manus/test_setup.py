"""`manus setup`: what is asked on a terminal, what is kept, and what counts then."""

import tomllib
from pathlib import Path
from typing import Any

from tests.manus.program import Program
from tests.server import ScriptedServer, text


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
        for asked, answer in answers.items():
            terminal.expect_last(asked)
            terminal.type(f"{answer}\r")
        assert terminal.wait() == 0, terminal.text
        return terminal.text


def test_a_model_on_this_machine_is_found_and_used(bare: Program, server: ScriptedServer) -> None:
    server.script(text("Hello."))
    server.models = ["tiny", "large"]
    bare.environment["OLLAMA_HOST"] = server.base_url.removesuffix("/v1")
    bare.environment["OPENAI_API_KEY"] = "sk-not-for-this-machine"
    answers = {"Number [1]:": "1", "Model [tiny]:": "large"}
    shown = choose(bare, {**answers, "workspace]:": "~/work", "[auto]:": "ask"})
    assert "Ollama on this machine: tiny, large" in shown
    model = {"model": "large", "base_url": server.base_url, "api_key": "none"}
    assert kept(bare) == {**model, "workspace": "~/work", "approve": {"mode": "ask"}}
    assert bare("run", "say hello").out == "Hello.\n"
    assert (bare.home / "work").is_dir()
    assert server.requests[0].headers["authorization"] == "Bearer none"


def test_a_key_is_kept_and_what_else_is_set_stays(bare: Program, server: ScriptedServer) -> None:
    file = set_before(bare, '# mine\nmax_steps = 7\nmodel = "old"\n\n[approve]\nallow = ["bash"]\n')
    answers = {"Number [1]:": "4", "address:": server.base_url, "set):": "sk-secret"}
    answers |= {"Model:": "scripted", "workspace]:": "", "[auto]:": ""}
    assert "sk-secret" not in choose(bare, answers)
    model = {"model": "scripted", "base_url": server.base_url, "api_key": "sk-secret"}
    assert kept(bare) == {"max_steps": 7, **model, "approve": {"allow": ["bash"], "mode": "auto"}}
    assert file.read_text().startswith("# mine\n")


def test_the_folders_settings_and_the_environment_count_first(
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
