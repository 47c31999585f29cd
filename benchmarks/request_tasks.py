"""Three tasks with the replies of a capable model: a bug, a messy table, a folder of log files."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from langchain_core.messages import AIMessage

from manus.scripted import call, calls


@dataclass(frozen=True)
class ScriptedTask:
    """A task, its files, and the replies that solve it."""

    name: str
    request: str
    prepare: Callable[[Path], None]
    replies: Sequence[AIMessage]
    check: Callable[[Path], str]
    """Returns what is wrong afterwards; empty if the task is solved."""


def bash(command: str, text: str = "") -> AIMessage:
    return calls(call("bash", command=command), text=text)


def python(code: str, text: str = "") -> AIMessage:
    return calls(call("python_execute", code=code), text=text)


def done(answer: str) -> AIMessage:
    return call("terminate", status="success", answer=answer)


DURATIONS = '''"""Durations such as `1h30m`, as people write them."""

import re

UNITS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
PART = re.compile(r"(\\d+)([wdhms])")


class DurationError(ValueError):
    """The text is no duration."""


def parse(text: str) -> int:
    """Return the seconds of a duration; a number without a unit is in seconds."""
    text = text.strip().lower()
    if text.isdigit():
        return int(text)
    total = 0
    for number, unit in PART.findall(text):
        total += int(number) * UNITS[unit]
    return total


def render(seconds: int) -> str:
    """Return a duration in its largest units."""
    parts = []
    for unit, size in UNITS.items():
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
'''
TESTS = """import unittest

from durations import core


class DurationTest(unittest.TestCase):
    def test_parse(self):
        self.assertEqual(core.parse("1h30m"), 5400)
        self.assertEqual(core.parse("90"), 90)

    def test_render(self):
        self.assertEqual(core.render(5400), "1h30m")


if __name__ == "__main__":
    unittest.main()
"""
COMMAND = '''"""The command line: `python -m durations 1h30m`."""

import sys

from durations import core


def main(words):
    for word in words:
        print(word, core.parse(word))


if __name__ == "__main__":
    main(sys.argv[1:])
'''


def prepare_library(folder: Path) -> None:
    files = {
        "README.md": "# durations\n\nRun the tests with `python3 -m unittest`.\n",
        "durations/__init__.py": "",
        "durations/core.py": DURATIONS,
        "durations/__main__.py": COMMAND,
        "tests/__init__.py": "",
        "tests/test_core.py": TESTS,
        "pyproject.toml": '[project]\nname = "durations"\nversion = "1.4"\n',
    }
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)


def check_library(folder: Path) -> str:
    code = "from durations import core\ntry: core.parse('1x')\nexcept core.DurationError: print(1)"
    argv = [sys.executable, "-c", code]
    finished = subprocess.run(argv, cwd=folder, capture_output=True, text=True)
    return "" if finished.stdout == "1\n" else f"parse accepts 1x: {finished.stderr}"


FIX = ScriptedTask(
    "a bug in a library",
    "`durations.core.parse('1x')` returns 0 instead of raising `DurationError`, and so does an "
    "empty text. Fix it, with a test.",
    prepare_library,
    [
        bash("cat README.md; ls -R . | head -40; cat durations/core.py", "I look at the project."),
        bash("cat tests/test_core.py durations/__main__.py; python3 -m unittest"),
        bash("python3 -c \"from durations import core; print(core.parse('1x'), core.parse(''))\""),
        bash("grep -rn 'parse(' --include=*.py . | head"),
        call(
            "str_replace_editor",
            command="str_replace",
            path="durations/core.py",
            old_str="    total = 0\n    for",
            new_str='    if not re.fullmatch(rf"(?:{PART.pattern})+", text):\n'
            '        raise DurationError(f"`{text}` is no duration, such as 1h30m")\n'
            "    total = 0\n    for",
        ),
        call(
            "str_replace_editor",
            command="str_replace",
            path="tests/test_core.py",
            old_str="    def test_render(self):",
            new_str="    def test_invalid(self):\n"
            '        for text in ("1x", "", "h", "1h 2", "-1h"):\n'
            "            with self.subTest(text), self.assertRaises(core.DurationError):\n"
            "                core.parse(text)\n\n    def test_render(self):",
        ),
        bash("python3 -m unittest 2>&1 | tail -15; python3 -m durations 1h30m 90 2w"),
        bash("python3 -m durations 1x; cat durations/core.py | sed -n 15,35p"),
        done("`parse` raises `DurationError` for texts that are no duration; a test covers it."),
    ],
    check_library,
)


def prepare_table(folder: Path) -> None:
    cities = ("Köln", " köln", "Bonn", "BONN ", "Aachen", "")
    with (folder / "orders.csv").open("w", newline="", encoding="latin-1") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(["Nr", "Datum", "Stadt", "Betrag"])
        for number in range(900):
            day, month = number % 28 + 1, number % 12 + 1
            date = f"{day:02}.{month:02}.2025" if number % 3 else f"2025-{month:02}-{day:02}"
            amount = f"{number * 7 % 500},{number % 100:02}"
            writer.writerow([number % 880, date, cities[number % 6], amount if number % 11 else ""])
        writer.writerow(["", "", "Summe", "9.999,00"])


LOAD = """\
import csv
rows = list(csv.DictReader(open("orders.csv", encoding="latin-1"), delimiter=";"))
"""
CLEAN = """\
import csv, json
rows = list(csv.DictReader(open("orders.csv", encoding="latin-1"), delimiter=";"))
seen, totals, left_out = set(), {}, 0
for row in rows:
    if row["Stadt"] == "Summe" or not row["Betrag"] or row["Nr"] in seen:
        left_out += 1
        continue
    seen.add(row["Nr"])
    city = row["Stadt"].strip().title() or "unknown"
    amount = float(row["Betrag"].replace(".", "").replace(",", "."))
    totals[city] = round(totals.get(city, 0) + amount, 2)
json.dump(totals, open("totals.json", "w"), ensure_ascii=False, indent=1)
print(left_out, totals)
"""


def check_table(folder: Path) -> str:
    totals = json.loads((folder / "totals.json").read_text())
    return "" if set(totals) == {"Köln", "Bonn", "Aachen", "unknown"} else str(totals)


TABLE = ScriptedTask(
    "a messy table",
    "Write the total amount per city in orders.csv to totals.json. Count each order once.",
    prepare_table,
    [
        bash("file orders.csv; wc -l orders.csv; head -5 orders.csv; tail -3 orders.csv"),
        python(f"{LOAD}print(len(rows))\nfor row in rows[:25]: print(row)"),
        python(
            f"{LOAD}from collections import Counter\n"
            "for name in rows[0]:\n"
            "    values = Counter(row[name] for row in rows)\n"
            "    print(name, len(values), values.most_common(8))"
        ),
        python(
            f"{LOAD}from collections import Counter\n"
            'numbers = Counter(row["Nr"] for row in rows)\n'
            "for row in rows:\n"
            '    if numbers[row["Nr"]] > 1: print(row)'
        ),
        python(CLEAN),
        bash("cat totals.json; awk -F';' '$4 == \"\"' orders.csv | wc -l"),
        done("The totals are in totals.json; rows without an amount and repeats are left out."),
    ],
    check_table,
)


def prepare_logs(folder: Path) -> None:
    (folder / "logs").mkdir()
    for day in range(60):
        lines = []
        for number in range(120):
            level = "ERROR" if (day * 7 + number) % 41 == 0 else "INFO"
            service = ("api", "billing", "mail")[(day + number) % 3]
            lines.append(
                f"2025-{day // 28 + 1:02}-{day % 28 + 1:02}T{number // 6:02}:{number % 60:02}:00Z "
                f"{level} {service} request={day * 1000 + number} took={number * 13 % 900}ms"
            )
        (folder / "logs" / f"day-{day:02}.log").write_text("\n".join(lines) + "\n")


def check_logs(folder: Path) -> str:
    text = (folder / "errors.csv").read_text()
    return "" if text.startswith("service,errors\n") and text.count("\n") == 4 else text


COUNT = """\
import collections, csv, glob
errors, slow = collections.Counter(), collections.Counter()
for path in sorted(glob.glob("logs/*.log")):
    for line in open(path):
        _, level, service, _, took = line.split()
        errors[service] += level == "ERROR"
        slow[service] += int(took[5:-2]) > 800
with open("errors.csv", "w", newline="") as file:
    writer = csv.writer(file, lineterminator="\\n")
    writer.writerow(["service", "errors"])
    writer.writerows(errors.most_common())
print(errors, slow)
"""
LOGS = ScriptedTask(
    "60 log files",
    "Count the errors of each service in logs/ and write them to errors.csv (service,errors), "
    "the most frequent first. Which day was the worst?",
    prepare_logs,
    [
        bash("ls logs | wc -l; ls -la logs | head -5; head -12 logs/day-00.log"),
        bash("cat logs/*.log | awk '{print $2, $3}' | sort | uniq -c"),
        bash("grep -h ERROR logs/*.log | head -40"),
        bash("cat logs/*.log | awk 'NF != 5' | head; wc -l logs/*.log | tail -1"),
        python(COUNT),
        bash("cat errors.csv; grep -c ERROR logs/*.log | sort -t: -k2 -n -r | head -8"),
        done("errors.csv has the counts. Several days share the most errors."),
    ],
    check_logs,
)

TASKS = (FIX, TABLE, LOGS)
