import contextlib
import os
import sys

import pytest
from pydantic import SecretStr

from manus.doctor import find_model
from manus.state.settings import Settings
from tests.browser.site import Answer, Site
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
    for said in (
        "note    sandbox   none",
        "note    fonts     none for Chinese found",
        "fonts-noto-cjk",
        "note    model     scripted is not",
        "a, b, c, d, e.",
        "spans to http://127.0.0.1:9\n",
    ):
        assert said in result.out
    assert KEY not in result.out


def test_everything_wrong_at_once(bare: Program) -> None:
    (bare.home / "file").write_text("A file, and no folder or database.")
    result = bare(
        "doctor", MANUS_WORKSPACE="file/below", MANUS_CHECKPOINT="file", MANUS_MODEL="replay:none"
    )
    assert result.code == 1
    for said in ("MISSING model     There is no", "not a SQLite database", "file/below cannot"):
        assert said in result.out
    assert result.out.endswith("\nNot ready: model, threads, workspace.\n")
    assert _lines(result.out)["python"].startswith("ok ")


@pytest.mark.parametrize(
    ("status", "state", "said"),
    [(401, "missing", "refuses the key (401)"), (503, "warning", "answers 503")],
)
def test_answers_of_other_kinds(status: int, state: str, said: str) -> None:
    with contextlib.closing(Site()) as site:
        site.pages["/v1/models"] = Answer(status=status)
        found = find_model(Settings(model="m", base_url=f"{site.base}/v1", api_key=SecretStr(KEY)))
    assert (found.state, said in found.text, KEY in found.text) == (state, True, False)


def test_mcp_servers_are_looked_at_and_not_started(manus: Program) -> None:
    (manus.home / "manus.toml").write_text(
        '[mcp.here]\ncommand = "sh"\nargs = ["-c", "touch started"]\n'
        '[mcp.gone]\ncommand = "no-such-program"\n'
        f'[mcp.closed]\nurl = "https://tides.example/mcp?key={KEY}"\ntoken = "${{TIDES}}"\n'
    )
    result = manus("doctor")
    assert result.code == 0
    for said in ("mcp       here, gone, closed (", "`no-such-program`", "closed: ", " TIDES"):
        assert said in result.out
    assert not (manus.home / "started").exists()
    assert KEY not in result.out
