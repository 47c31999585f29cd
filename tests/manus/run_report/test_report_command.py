"""`manus report`: the page of a thread, as the command writes it."""

from tests.manus.program import Program
from tests.server import ScriptedServer, call, calls, text


def test_a_page(manus: Program, server: ScriptedServer) -> None:
    failing = "seq 1 40; echo 'E: no such module'; (exit 3)"
    server.script(
        calls(
            call("str_replace_editor", command="create", path="a.py", file_text="x = 1\n"),
            text="I write it.",
        ),
        call("str_replace_editor", command="str_replace", path="a.py", old_str="1", new_str="2"),
        call("str_replace_editor", command="str_replace", path="a.py", old_str="z", new_str="9"),
        calls(call("bash", command="echo made > b.txt; echo said")),
        calls(call("bash", command=failing)),
        text("**Done.**"),
    )
    assert manus("run", "--thread", "t", "write <it>").code == 0
    old = manus.home / "t.html"
    old.write_text("old")
    done = manus("report", "t")
    assert (done.code, done.out) == (0, "")
    assert done.err == "The report on the thread t is in t.html.\n"
    html = old.read_text("utf-8")
    assert [p.name for p in manus.home.glob("*.html*")] == ["t.html"]
    assert html.startswith("<!doctype html>")
    for part in (
        "write &lt;it&gt;",
        "<strong>Done.</strong>",
        "I write it.",
        "(answered)",
        '<span class="a">+x = 1\n</span>',
        '<span class="d">-1\n</span><span class="a">+2\n</span>',
        '<span class="path">b.txt</span>',
        "<dd>scripted</dd>",
        '<span class="outcome">exit code 3: E: no such module</span>',
    ):
        assert part in html, part
    assert ">+9" not in html, "that one failed"
    unknown = manus("report", "nothing")
    assert (unknown.code, unknown.out) == (2, "")
    assert unknown.err.startswith("manus: There is no thread nothing in ")
    for place in ("none/run.html", "."):
        done = manus("report", "t", "-o", place)
        assert done.code == 2
        assert done.err.startswith(f"manus: The report cannot be written to {place} (")
        assert done.err.count("\n") == 1
    assert not list(manus.home.glob(".*.html*"))
