"""Parallel steps that change one file with programs: the later one and the summary are informed."""

from typing import Any

import pytest

from manus.calls.shared_files import names_written_in
from tests.flow.helpers import ScriptedFlow, free, is_step, is_summary, makes, succeeds
from tests.flow.test_questions import answer, asks, questions
from tests.server import Request, call, text

EXECUTORS = ("swe", "data_analysis", "manus")
"""With a shell, with Python, and with a question to a person."""


@pytest.fixture
def real(flow: ScriptedFlow) -> ScriptedFlow:
    """Provide a flow whose executors have real tools."""
    scripted_flow = ScriptedFlow(flow.server, flow.workspace, flow.saver, EXECUTORS)
    (scripted_flow.workspace / "counts.json").write_text("{}")
    return scripted_flow


def build_update(name: str, *, wait_for: str) -> str:
    """Return a program that reads the file, waits for the other ones, and writes the file."""
    return (
        "import json, pathlib, time\n"
        "counts = json.loads(pathlib.Path('counts.json').read_text())\n"
        f"pathlib.Path('{name}.ready').touch()\n"
        f"while not all(pathlib.Path(p).exists() for p in {wait_for.split()!r}):\n"
        "    time.sleep(0.01)\n"
        f"counts['{name}'] = 1\n"
        "pathlib.Path('counts.json').write_text(json.dumps(counts))\n"
    )


def shell(program: str) -> Any:
    return call("bash", command=f"python3 - <<'END'\n{program}END")


def python(program: str) -> Any:
    return call("python_execute", code=program)


def observation(request: Request) -> str:
    """Return the last observation in a request."""
    return str([m["content"] for m in request.messages if m["role"] == "tool"][-1])


WAYS = {"shell": ("swe", shell), "python": ("data_analysis", python)}


@pytest.mark.parametrize("method", WAYS)
async def test_a_lost_change_is_reported(
    real: ScriptedFlow, method: str, subtests: pytest.Subtests
) -> None:
    executor, change = WAYS[method]
    names = ("alpha", "beta", "gamma")
    real.plans(makes(*(free(f"[{executor}] Count {name}") for name in names)))
    everybody = " ".join(f"{name}.ready" for name in names)
    for name in names:
        real.step(name, change(build_update(name, wait_for=everybody)), succeeds(f"{name}."))
    real.sums_up(text("All counted."))
    outcome = await real.run()
    assert outcome.stop_reason == "completed"
    assert len((real.workspace / "counts.json").read_text().split(",")) == 1, "two were lost"
    observations = [observation(real.requests_for(is_step(name))[1]) for name in names]
    conflicts = [
        text for text in observations if "`counts.json` was changed at the same time" in text
    ]
    assert len(conflicts) == 2, "the first one to finish could not know"
    assert "All counted." in outcome.output
    assert "\n- counts.json: " in outcome.output
    for name in names:
        with subtests.test(name=name):
            assert f"“[{executor}] Count {name}”" in outcome.output
    assert "Check counts.json" in real.requests_for(is_summary)[0].text


async def test_a_step_can_repair_it(real: ScriptedFlow) -> None:
    """A step learns of a change between two of its calls before it writes."""
    real.plans(makes(free("[swe] first: put 1 into notes.md"), free("[swe] second: put 2 there")))
    (real.workspace / "notes.md").write_text("0\n")
    real.step(
        "first",
        call("bash", command="cat notes.md; touch read; until [ -e written ]; do sleep 0.02; done"),
        call("bash", command="sed -i '1i 1' notes.md"),
        succeeds(),
    )
    real.step(
        "second",
        call("bash", command="until [ -e read ]; do sleep 0.02; done; echo 2 >> notes.md"),
        call("bash", command="touch written"),
        succeeds(),
    )
    real.sums_up(text("All."))
    await real.run()
    first = real.requests_for(is_step("first"))
    assert "`notes.md` has been changed" in observation(first[1])
    assert "`notes.md` has been changed" not in observation(first[2])
    assert (real.workspace / "notes.md").read_text() == "1\n0\n2\n"


async def test_steps_that_change_different_files_get_no_notice(
    real: ScriptedFlow, subtests: pytest.Subtests
) -> None:
    names = ("alpha", "beta")
    real.plans(makes(*(free(f"[swe] make {name}.txt") for name in names)))
    both = " && ".join(f"[ -e {name}.txt ]" for name in names)
    for name in names:
        wait = f"echo 1 > {name}.txt; until {both}; do sleep 0.02; done; echo 2 >> {name}.txt"
        real.step(name, call("bash", command=wait), succeeds())
    real.sums_up(text("All."))
    outcome = await real.run()
    assert outcome.output == "All."
    for name in names:
        with subtests.test(name=name):
            assert "at the same time" not in observation(real.requests_for(is_step(name))[1])


async def test_a_step_that_waited_is_informed_of_changes(real: ScriptedFlow) -> None:
    """By a later step, or by the person who was asked; also in another process."""
    real.plans(makes(free("[manus] alpha"), free("[swe] beta"), free("[swe] gamma", 1)))
    real.step("alpha", call("bash", command="echo 1 > notes.md"), asks("Red?"))
    real.step("beta", succeeds())
    real.step("gamma", call("bash", command="echo 2 >> notes.md"), succeeds())
    outcome = await real.run()
    await real.graph.close_waiting()
    real = ScriptedFlow(real.server, real.workspace, real.saver, EXECUTORS)
    real.step("alpha", succeeds())
    real.sums_up(text("All."))
    assert questions(outcome) == ["Red?"]
    await answer(real, outcome, Red="crimson")
    observed = observation(real.requests_for(is_step("alpha"))[-1])
    assert observed.startswith("crimson")
    assert "`notes.md` has been changed by somebody else" in observed


PROGRAMS = [
    ("echo 1 >> out/a.txt && cat b.txt", {"a.txt"}),
    ("sed -i 's/a/b/' app.py; pytest test_app.py", {"sed", "-i", "s", "a", "b", "app.py"}),
    ("cat a.txt | tee b.txt", {"tee", "b.txt"}),
    ("python3 -c \"print(open('a.txt').read())\"", set()),
    ("wc -l a.txt 2>/dev/null; [ -e b.txt ]", {"null"}),
]


@pytest.mark.parametrize(("program", "names"), PROGRAMS)
def test_the_files_that_a_command_seems_to_write(program: str, names: set[str]) -> None:
    assert names_written_in(program) == names


WRITERS = [
    "p = pathlib.Path('a.txt')\np.write_text('1')",
    "with open('a.txt', 'a') as f: f.write('1')",
    "json.dump({}, open('a.txt', mode='w'))",
    "frame.to_csv('a.txt')",
    "fs.writeFileSync('a.txt', '1')",
]


@pytest.mark.parametrize("program", WRITERS)
def test_a_program_that_writes_may_write_all_that_it_names(program: str) -> None:
    assert "a.txt" in names_written_in(program)
