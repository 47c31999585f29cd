"""Write the other recordings of `manus demo`: python -m scripts.record_demos.

As in `scripts.record_calculator`, the turns are written by hand; the tools' output is real.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

from manus.cli.commands.demo import DEMOS
from manus.config.context import Context
from manus.graph import build_agent, build_flow
from manus.graph.profiles import all_executors
from tests.flow.helpers import is_planner, is_step, is_summary
from tests.server import ScriptedServer, call, calls, text, tokens

FOLDER = Path("manus/recordings")
FIGURES = DEMOS["rentals"].request.partition("\n\n")[2]

SAVE = "[data_analysis] Save the figures as rentals.csv and check them"
DRAW = "[data_analysis] Draw the rentals by month, a line for each bike"
COUNT = "[data_analysis] Find each bike's best month, and the demand in spring"

PLAN = call(
    "planning",
    command="create",
    plan_id="rentals",
    title="A year of rentals",
    steps=[
        {"text": SAVE, "depends_on": []},
        {"text": DRAW, "depends_on": [0]},
        {"text": COUNT, "depends_on": [0]},
    ],
)
SAVING = f'''\
import csv

figures = """\\
{FIGURES}
"""
with open("rentals.csv", "w") as file:
    file.write(figures)
rows = list(csv.DictReader(figures.splitlines()))
is_whole = [int(row["month"]) for row in rows] == [*range(1, 13)]
print(len(rows), "months;", "none missing" if is_whole else "some missing")
for bike in ("city", "cargo", "mountain"):
    print(bike, sum(int(row[bike]) for row in rows), "rentals in the year")
'''
COUNTING = """\
import csv

rows = list(csv.DictReader(open("rentals.csv")))
for bike in ("city", "cargo", "mountain"):
    best = max(rows, key=lambda row: int(row[bike]))
    spring = {row["month"]: int(row[bike]) for row in rows if row["month"] in ("3", "4", "5")}
    print(f"{bike}: best in month {best['month']} ({best[bike]})")
    print(f"  spring {spring}, total {sum(spring.values())}")
"""
STEPS = {
    SAVE: [
        calls(
            call("python_execute", code=SAVING),
            text="First save the file, and check that it is complete.",
            usage=tokens(1420, 310),
        ),
        calls(
            call("terminate", status="success"),
            text="rentals.csv has all 12 months: 1,407 rentals of city bikes, 353 of cargo bikes "
            "and 719 of mountain bikes.",
            usage=tokens(1795, 58, cached=1408),
        ),
    ],
    DRAW: [
        calls(
            call(
                "data_visualization",
                data="rentals.csv",
                spec={
                    "transform": [
                        {"fold": ["city", "cargo", "mountain"], "as": ["bike", "rentals"]}
                    ],
                    "mark": {"type": "line", "point": True},
                    "encoding": {
                        "x": {"field": "month", "axis": {"tickMinStep": 1}},
                        "y": {"field": "rentals", "type": "quantitative"},
                        "color": {"field": "bike"},
                    },
                    "title": "Rentals by month",
                    "width": 440,
                    "height": 240,
                },
                output="charts/rentals.png",
            ),
            text="One line per bike shows the seasons best.",
            usage=tokens(1610, 96),
        ),
        calls(
            call("terminate", status="success"),
            text="The chart is in charts/rentals.png (and .html): city bikes lead all year, "
            "mountain bikes are a summer affair, cargo bikes hardly have a season.",
            usage=tokens(2480, 61, cached=1536),
        ),
    ],
    COUNT: [
        calls(
            call("python_execute", code=COUNTING),
            text="Now the requested numbers.",
            usage=tokens(1602, 141),
        ),
        calls(
            call("terminate", status="success"),
            text="Best months: city June (188), cargo June (41), mountain August (151). Spring, "
            "March to May: city 390 (at most 171 in a month), cargo 89 (38), mountain 143 (81).",
            usage=tokens(1889, 83, cached=1536),
        ),
    ],
}
SUMMARY = text(
    "**Best months:** city and cargo bikes June (188 and 41 rentals), mountain bikes August "
    "(151).\n\n"
    "| Spring | March | April | May | total |\n| --- | ---: | ---: | ---: | ---: |\n"
    "| city | 87 | 132 | 171 | 390 |\n| cargo | 21 | 30 | 38 | 89 |\n"
    "| mountain | 18 | 44 | 81 | 143 |\n\n"
    "The chart is in `charts/rentals.png`. Demand in spring peaks in May: mountain bikes "
    "rise from 18 rentals in March to 81.",
    usage=tokens(1104, 152),
)

PAGE = """\
<!doctype html>
<meta charset="utf-8">
<title>Tip</title>
<style>
  body { font: 18px/1.5 system-ui, sans-serif; max-width: 24rem; margin: 3rem auto }
  label { display: block; margin: .8rem 0 }
  input { font: inherit; width: 6rem; float: right; text-align: right }
  button { font: inherit; width: 100%; padding: .4rem; margin-top: .8rem }
  output { display: block; margin-top: 1.2rem; font-size: 1.4rem }
</style>
<h1>Tip</h1>
<label>Bill <input id="bill" type="number" step="0.01"></label>
<label>Tip in percent <input id="percent" type="number" value="10"></label>
<label>Guests <input id="guests" type="number" value="2"></label>
<button>Calculate</button>
<output></output>
<script>
  const number = id => document.getElementById(id).value
  const money = amount => Number(amount).toFixed(2)
  document.querySelector("button").onclick = () => {
    const total = number("bill") + number("bill") * number("percent") / 100
    const share = total / number("guests")
    document.querySelector("output").textContent =
      `Total ${money(total)}, each pays ${money(share)}`
  }
</script>
"""
WRONG = "  const number = id => document.getElementById(id).value\n"
RIGHT = "  const number = id => Number(document.getElementById(id).value)\n"


MAKING = calls(
    call("str_replace_editor", command="create", path="tip.html", file_text=PAGE),
    text="One file with a small form, and a script that calculates the tip.",
    usage=tokens(1298, 512),
)
MENDING = calls(
    call(
        "str_replace_editor", command="str_replace", path="tip.html", old_str=WRONG, new_str=RIGHT
    ),
    text="It shows 808.00: the field's value is a string, so `+` concatenates. Convert it to a "
    "number.",
    usage=tokens(2533, 118, cached=2048),
)
TIPPED = calls(
    call("terminate", status="success"),
    text="`tip.html` calculates the tip: 80 plus 10 % is 88.00 for two, 44.00 each. Trying it "
    "revealed a bug, now fixed: the bill and the tip were concatenated as strings (808.00).",
    usage=tokens(3020, 74, cached=2560),
)


def tip_turns(workspace: str) -> list[object]:
    """Return the turns of the run that builds the page."""
    bill = {"action": "input_text", "index": 1, "text": "80"}
    button = {"action": "click_element", "index": 4}
    return [
        MAKING,
        _browse(
            "Let me look at it.", 1874, 31, action="go_to_url", url=f"file://{workspace}/tip.html"
        ),
        _browse("80 plus 10 %, for 2: I expect 88, and 44 each.", 2290, 36, **bill),
        _browse("Now click the button.", 2402, 22, **button),
        MENDING,
        _browse("Try again from the start.", 2710, 18, action="refresh"),
        _browse("The same bill.", 2802, 36, **bill),
        _browse("And click the button.", 2911, 22, **button),
        TIPPED,
    ]


def _browse(thought: str, input_tokens: int, output_tokens: int, **arguments: object) -> object:
    usage = tokens(input_tokens, output_tokens, cached=1280)
    return calls(call("browser_use", **arguments), text=thought, usage=usage)


async def record_tips(workspace: str, recording: Path) -> str:
    """Build and try the page once, and record it."""
    with ScriptedServer() as server:
        server.script(*tip_turns(workspace))
        state = await build_agent().ainvoke(
            {"request": DEMOS["tips"].request}, context=_context(workspace, server, recording)
        )
        server.verify()
        return "\n".join([*state["results"], state["output"]])


async def record_rentals(workspace: str, recording: Path) -> str:
    """Analyze the figures once, and record it."""
    with ScriptedServer() as server:
        server.when(is_planner, calls(PLAN, usage=tokens(1180, 166)))
        for step, turns in STEPS.items():
            server.when(is_step(step), *turns)
        server.when(is_summary, SUMMARY)
        state = await build_flow(all_executors()).ainvoke(
            {"request": DEMOS["rentals"].request}, context=_context(workspace, server, recording)
        )
        server.verify()
        return "\n".join([*state["results"], state["output"]])


def _context(workspace: str, server: ScriptedServer, recording: Path) -> Context:
    return Context(
        workspace=workspace, model="scripted", base_url=server.base_url, record=str(recording)
    )


def main() -> None:
    """Record both, each in an empty workspace."""
    for name, record in (("rentals", record_rentals), ("tips", record_tips)):
        with tempfile.TemporaryDirectory() as folder:
            recording = FOLDER / f"{name}.jsonl"
            print(asyncio.run(record(f"{folder}/workspace", recording)))  # noqa: T201
            recording.chmod(0o644)


if __name__ == "__main__":
    os.environ.setdefault("NO_PROXY", "127.0.0.1")
    main()
