import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from pydantic import SecretStr

from manus.doctor import find_model
from manus.state.settings import Settings
from tests.manus.program import Program
from tests.server import ScriptedServer

KEY = "sk-very-secret"


def _lines(out: str) -> dict[str, str]:
    return {line.split()[1]: line for line in out.splitlines() if line[:1].strip() and " " in line}


def test_ready(manus: Program, server: ScriptedServer) -> None:
    result = manus("doctor", MANUS_API_KEY=KEY)
    assert (result.code, result.err) == (0, "")
    lines = _lines(result.out)
    assert lines["model"] == f"ok      model     scripted at {server.base_url}"
    assert lines["threads"].endswith(f"kept in {manus.database} (made by the first run)")
    assert lines["workspace"].endswith(f"{manus.workspace} (made by the first run)")
    assert {"python", "browser", "fonts", "tracing"} <= set(lines)
    assert result.out.endswith("\nReady.\n")
    assert KEY not in result.out
    assert not manus.workspace.exists()


KINDS = ("bubblewrap", "landlock", "none")
FONTS = ("zh-cn ja ko", "ja ko", "")
SAID = (
    "ok      fonts     for Chinese, Japanese, Korean too\n",
    "note    fonts     none for Chinese found",
    "note    fonts     none for Chinese, Japanese, Korean found",
)
LANGSMITH = {"LANGSMITH_TRACING": "true", "LANGSMITH_API_KEY": KEY}
SPANS = {
    "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://me:{KEY}@127.0.0.1:9",
    "LANGSMITH_TRACING_MODE": "otel",
}
TRACES: tuple[tuple[dict[str, str], str], ...] = (
    ({}, "off: nothing is sent anywhere\n"),
    (LANGSMITH, "LangSmith at its own address\n"),
    ({**LANGSMITH, **SPANS}, "spans to http://127.0.0.1:9\n"),
)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems bring fonts")
@pytest.mark.parametrize("case", range(3))
def test_the_sandbox_the_fonts_and_where_traces_go(manus: Program, case: int) -> None:
    traced, where = TRACES[case]
    path = _fc_list(manus.home, FONTS[case])
    result = manus("doctor", MANUS_SANDBOX=KINDS[case], PATH=path, **traced)
    assert result.code == 0
    found = _lines(result.out)["sandbox"].split()
    assert found[0] == ("note" if KINDS[case] == "none" else "ok")
    assert found[2].startswith(KINDS[case])
    assert SAID[case] in result.out
    assert ("fonts-noto-cjk" in result.out) == (case > 0)
    assert where in result.out
    assert KEY not in result.out


def test_a_weaker_wall_says_how_to_get_the_stronger(manus: Program, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "cargo").touch(0o755)
    result = manus("doctor", PATH=str(tmp_path / "bin"))
    assert result.code == 0
    assert _lines(result.out)["sandbox"].startswith("note    sandbox   landlock")
    assert f"do not see {tmp_path / 'bin'} " in result.out
    assert "apt install bubblewrap" in result.out


def test_a_model_that_the_server_does_not_list(manus: Program, server: ScriptedServer) -> None:
    server.models = ["a", "b", "c", "d", "e", "f"]
    result = manus("doctor")
    assert result.code == 0
    assert "note    model     scripted is not" in result.out
    assert "a, b, c, d, e." in result.out


def test_everything_wrong_at_once(bare: Program) -> None:
    (bare.home / "file").write_text("A file, and no folder or database.")
    result = bare(
        "doctor", MANUS_WORKSPACE="file/below", MANUS_CHECKPOINT="file", MANUS_MODEL="replay:none"
    )
    assert result.code == 1
    assert "MISSING model     There is no recording none to play." in result.out
    assert "not a SQLite database" in result.out
    assert "file/below cannot" in result.out
    assert result.out.endswith("\nNot ready: model, threads, workspace.\n")
    findings = {f["name"]: f for f in bare("doctor", "--json").json}
    assert findings["python"]["state"] == "ok"


@pytest.mark.parametrize(
    ("status", "state", "said"),
    [
        (401, "missing", "refuses the key (401)"),
        (503, "warning", "answers 503"),
        (404, "ok", "m at http"),
    ],
)
def test_answers_of_other_kinds(status: int, state: str, said: str) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(status)

        def log_message(self, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as httpd:
        threading.Thread(target=httpd.handle_request, daemon=True).start()
        url = f"http://127.0.0.1:{httpd.server_address[1]}/v1"
        finding = find_model(Settings(model="m", base_url=url, api_key=SecretStr(KEY)))
    assert finding.state == state
    assert said in finding.text
    assert KEY not in finding.text


def test_mcp_servers_are_looked_at_and_not_started(manus: Program) -> None:
    (manus.home / "manus.toml").write_text(
        '[mcp.here]\ncommand = "sh"\nargs = ["-c", "touch started"]\n'
        '[mcp.gone]\ncommand = "no-such-program"\n'
        f'[mcp.closed]\nurl = "https://tides.example/mcp?key={KEY}"\ntoken = "${{TIDES}}"\n'
        '[mcp.later]\nurl = "https://moon.example/mcp"\nenabled = false\n'
    )
    result = manus("doctor")
    assert result.code == 0
    assert "note    mcp       here, gone, closed (" in result.out
    assert "`no-such-program`" in result.out
    assert "closed: " in result.out
    assert "variable TIDES" in result.out
    assert not (manus.home / "started").exists()
    assert KEY not in result.out


def _fc_list(folder: Path, languages: str) -> str:
    """A folder for PATH whose `fc-list` knows a font for these languages."""
    program = folder / "bin" / "fc-list"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\ncase " {languages} " in *" ${{1#:lang=}} "*) echo font;; esac\n'
    )
    program.chmod(0o755)
    return f"{program.parent}{os.pathsep}{os.environ['PATH']}"
