import os
import socket
import sys
from concurrent.futures import ThreadPoolExecutor

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


SPANS = {
    "LANGSMITH_TRACING": "true",
    "LANGSMITH_API_KEY": KEY,
    "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://me:{KEY}@127.0.0.1:9",
    "LANGSMITH_TRACING_MODE": "otel",
}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems bring fonts")
def test_no_sandbox_no_fonts_no_such_model_and_where_traces_go(
    manus: Program, server: ScriptedServer
) -> None:
    server.models = ["a", "b", "c", "d", "e", "f"]
    finder = manus.home / "bin" / "fc-list"
    finder.parent.mkdir()
    finder.write_text("#!/bin/sh\ncase $1 in *zh*) ;; *) echo a font;; esac\n")
    finder.chmod(0o755)
    path = f"{finder.parent}{os.pathsep}{os.environ['PATH']}"
    result = manus("doctor", MANUS_SANDBOX="none", PATH=path, **SPANS)
    assert result.code == 0
    assert _lines(result.out)["sandbox"].startswith("note    sandbox   none")
    assert "note    fonts     none for Chinese found" in result.out
    assert "fonts-noto-cjk" in result.out
    assert "note    model     scripted is not" in result.out
    assert "a, b, c, d, e." in result.out
    assert "spans to http://127.0.0.1:9\n" in result.out
    assert KEY not in result.out


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
    assert _lines(result.out)["python"].startswith("ok ")


@pytest.mark.parametrize(
    ("status", "state", "said"),
    [(401, "missing", "refuses the key (401)"), (503, "warning", "answers 503")],
)
def test_answers_of_other_kinds(status: int, state: str, said: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        settings = Settings(model="m", base_url=url, api_key=SecretStr(KEY))
        with ThreadPoolExecutor(1) as pool:
            finding = pool.submit(find_model, settings)
            connection, _ = listening.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(f"HTTP/1.1 {status} No\r\nContent-Length: 0\r\n\r\n".encode())
            found = finding.result()
    assert found.state == state
    assert said in found.text
    assert KEY not in found.text


def test_mcp_servers_are_looked_at_and_not_started(manus: Program) -> None:
    (manus.home / "manus.toml").write_text(
        '[mcp.here]\ncommand = "sh"\nargs = ["-c", "touch started"]\n'
        '[mcp.gone]\ncommand = "no-such-program"\n'
        f'[mcp.closed]\nurl = "https://tides.example/mcp?key={KEY}"\ntoken = "${{TIDES}}"\n'
    )
    result = manus("doctor")
    assert result.code == 0
    assert "note    mcp       here, gone, closed (" in result.out
    assert "`no-such-program`" in result.out
    assert "closed: " in result.out
    assert "variable TIDES" in result.out
    assert not (manus.home / "started").exists()
    assert KEY not in result.out
