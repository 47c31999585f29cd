"""The report on a thread: the data collected from real runs, and the page that is written."""

import re
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from manus.cli.commands.demo import DEMOS
from manus.pages.report.page import page, state
from manus.pages.trace.reading import read_runs, read_trace
from manus.prompts import compaction as prompts
from manus.threads.history import ROOT as ROOT_NAMESPACE
from manus.threads.history import History, read_history
from tests.cli.program import Program
from tests.flow.helpers import ScriptedFlow, free, gives_up, makes, revises, succeeds
from tests.helpers.agent import TESTER, ScriptedAgent
from tests.server import ScriptedServer, call, calls, mentions, text, tokens

PLANNING = replace(TESTER, name="planning", tools=("planning",))


async def test_a_loop_is_reported_where_it_was_detected(agent: ScriptedAgent) -> None:
    same = call("append", path="a", line="x")
    await agent.run(*[same] * 6, request="Go round.")
    [run] = await read_trace(agent.saver, "t")
    notices = [(s.number, n.kind) for s in run.steps for n in s.notices]
    assert notices == [(step, "loop") for step in (3, 4, 5, 6)]
    assert "append" in run.steps[2].notices[0].text
    assert (run.stop_reason, state(run)[1]) == ("stuck", "warn")


async def test_removed_messages_are_still_reported(
    agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MANUS_CONTEXT_WINDOW", "6000")
    agent.server.when(mentions(prompts.SUMMARIZER[:40])).always(text("- It was long. [#2]"))
    words = "word " * 600
    write = [calls(call("append", path="a", line=f"{n}"), text=f"{n}: {words}") for n in range(12)]
    await agent.run(*write, text("Done."), request="Write much.", max_steps=30)
    [run] = await read_trace(agent.saver, "t")
    assert len(run.steps) == 13
    assert len(await agent.messages()) < 2 * 13
    [notice, *_] = [n for step in run.steps for n in step.notices if n.kind == "compaction"]
    assert "replaced by notes" in notice.title
    assert all(c.observation == "Appended to a." for s in run.steps for c in s.calls)


async def test_what_it_cost(agent: ScriptedAgent, tmp_path: Path) -> None:
    (tmp_path / "manus.toml").write_text("[prices.scripted]\ninput = 1.0\noutput = 2.0\n")
    write = calls(call("append", path="a", line="1"), usage=tokens(1_000, 100))
    outcome = await agent.run(write, text("Done.", usage=tokens(2_000, 50)))
    [run] = await read_trace(agent.saver, "t")
    assert run.tokens["cost"] == pytest.approx(outcome.usage["cost"]) == pytest.approx(0.0033)
    assert "<dd>0.0033<small>by the price table</small></dd>" in page("t", [run])


async def test_the_plan_of_a_single_agent(agent: ScriptedAgent) -> None:
    planner = ScriptedAgent(agent.server, agent.workspace, agent.saver, PLANNING)
    create = {"command": "create", "plan_id": "p", "title": "Trip", "steps": ["book", "pack"]}
    mark = {"command": "mark_step", "step_index": 0, "step_status": "completed"}
    half = text("Half of it.")
    await planner.run(call("planning", create), call("planning", mark), half)
    [run] = await read_trace(planner.saver, "t")
    assert run.plan is not None
    assert [step["status"] for step in run.plan["steps"]] == ["completed", "not_started"]
    html = page("t", [run])
    assert "The agent's plan" in html
    assert '<li class="completed">book' in html


async def test_a_run_can_be_reported_at_any_time(
    flow: ScriptedFlow, subtests: pytest.Subtests
) -> None:
    """Whatever the store contains so far, with or without the steps' own checkpoints."""
    flow.plans(makes(free("alpha"), free("beta")), revises(free("alpha"), free("gamma")))
    flow.step("alpha", call("append", path="a", line="1"), succeeds())
    flow.step("beta", gives_up())
    flow.step("gamma", succeeds())
    flow.sums_up(text("Done."))
    await flow.run(request="Do it.")
    history = await read_history(flow.saver, "t")
    at_work = 0
    moments = sorted(s.started_at for steps in history.values() for s in steps)
    for now in moments:
        for with_steps in (True, False):
            with subtests.test(now=now, with_steps=with_steps):
                early: History = {}
                for namespace, own in history.items():
                    past = [s for s in own if s.started_at <= now]
                    if past and (with_steps or namespace == ROOT_NAMESPACE):
                        past[-1] = replace(
                            past[-1], next_started_at=None, writes=past[-1].writes[:1]
                        )
                        early[namespace] = past
                runs = read_runs(early, is_running=True)
                assert "<main" in page("t", runs)
                assert len(runs) == 1
                stages = [s for s in runs[0].stages if s.status == "in_progress"]
                at_work += any(s.run is not None and s.run.steps for s in stages)
    assert at_work > 0


def _remove_date(html: str) -> str:
    """Return the page without the time at which it was written."""
    return re.sub(r"; written [^<]+", "", html)


def test_a_page(manus: Program, server: ScriptedServer, subtests: pytest.Subtests) -> None:
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
    result = manus("report", "t")
    assert (result.code, result.out) == (0, "")
    assert result.err == "The report of the thread t is in t.html.\n"
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
        with subtests.test(part=part):
            assert part in html, part
    assert ">+9" not in html, "that one failed"
    unknown = manus("report", "nothing")
    assert (unknown.code, unknown.out) == (2, "")
    assert unknown.err.startswith("manus: There is no thread nothing in ")
    for place in ("none/run.html", "."):
        with subtests.test(place=place):
            result = manus("report", "t", "-o", place)
            assert result.code == 2
            assert result.err.startswith(f"manus: Cannot write the report to {place} (")
            assert result.err.count("\n") == 1
    assert not list(manus.home.glob(".*.html*"))
    (manus.home / "stdout").symlink_to("/proc/self/fd/1")  # like /dev/stdout
    result = manus("report", "t", "-o", "stdout")
    assert _remove_date(result.out) == _remove_date(manus("report", "t", "-o", "-").out)
    assert (manus.home / "stdout").is_symlink()


@pytest.mark.sandboxes
@pytest.mark.sample(landlock=("calculator",), none=("calculator",))
@pytest.mark.parametrize("name", DEMOS)
def test_it_plays_and_ends_in_a_report(bare: Program, name: str) -> None:
    (bare.home / "manus.toml").write_text('[roles.plan]\nmodel = "nobody:there"\n')
    # a short path: Chromium creates a socket there, whose path is limited in length
    with TemporaryDirectory() as folder:
        result = bare("demo", name, TMPDIR=folder, MANUS_MAX_STEPS="1")
        assert result.code == 0, result.err
        [report] = [Path(path) for path in re.findall(r"(\S+report\.html)", result.err)]
        assert report.is_relative_to(folder)
        assert DEMOS[name].request[:20] in report.read_text()


def test_they_are_listed(bare: Program) -> None:
    assert re.findall(r"^  (\w+)", bare("demo").out, re.MULTILINE) == list(DEMOS)
    assert bare("demo", "nothing").code == 2
