"""An answer about a browser action counts although the browser was closed with the process."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.browser.site import Site
from tests.cli.program import Program
from tests.server import Call, ScriptedServer, call


@pytest.fixture
def site() -> Iterator[Site]:
    with closing(Site()) as server:
        server.pages["/"] = """<form method=post action=/sent enctype=multipart/form-data>
          <input type=file name=f aria-label=File></form>
          <form method=post action=/sent><button>Send</button></form>"""
        server.pages["/sent"] = "<p>Thank you.</p>"
        yield server


def use(action: str, **arguments: Any) -> Call:
    return call("browser_use", action=action, **arguments)


UPLOAD = use("upload_file", index=1, path="report.txt")
SEND = use("click_element", index=2)


@pytest.mark.parametrize(("mode", "action"), [("auto", UPLOAD), ("ask", SEND)])
@pytest.mark.parametrize("answer", ["yes", "no"])
def test_an_answer_survives_the_process(
    manus: Program, server: ScriptedServer, site: Site, mode: str, action: Call, answer: str
) -> None:
    settings = manus.home / ".config" / "manus"
    settings.mkdir(parents=True)
    (settings / "manus.toml").write_text(
        '[egress]\nallow_private = ["127.0.0.1"]\n[approve]\nallow = ["browser_use(go_to_url *)"]\n'
    )
    manus.workspace.mkdir(exist_ok=True)
    (manus.workspace / "report.txt").write_text("42")
    options = ("--profile", "browser", "--approve", mode, "--json")
    goes = use("go_to_url", url=site.base)
    server.script(goes, action)
    asked = manus("run", "--thread", "t", *options, "Hand it in").json
    assert asked["stop_reason"] == "interrupted"
    ends = call("terminate", status="success", answer="Sent.")
    replies = [goes, action, ends] if answer == "yes" else [ends]
    server.script(*replies)
    result = manus("resume", "t", "--answer", answer, *options).json
    assert result["output"] == "Sent."
    observations = [m["content"] for m in server.requests[-1].messages if m["role"] == "tool"]
    if answer == "no":
        assert observations[1].startswith("Not executed: the user declined")
    else:
        assert f"Go back to {site.base}/ and repeat the call" in observations[1]
        assert observations[3].startswith(("Attached report.txt to", "Clicked"))
