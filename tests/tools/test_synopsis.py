"""A long text is told by its kind, and a text of no certain kind is left alone."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manus.state.agent import ToolTask
from manus.tools.bash import Bash
from manus.tools.catalog import Catalog
from manus.tools.cut import cut_observation
from manus.tools.execute import execute
from manus.tools.session import Session
from manus.tools.synopsis import fitted, synopsis
from manus.tools.synopsis_log import template_of
from manus.tools.workspace import Workspace

ROOT = Path(__file__).parents[2]
ROOM = 4_000
EXIT = "\n[exit code 0]"


def people(count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": number,
            "name": ("Ann", "Bob", "李雷")[number % 3],
            "score": None if number % 5 == 0 else number / 4,
            "tags": ["new"] * (number % 4),
            "home": {"city": "Köln", "post code": f"0{number}"},
            **({"left": True} if number % 10 == 0 else {}),
        }
        for number in range(count)
    ]


PEOPLE = """\
  id: integer 0 to 99
  name: text, such as "Ann", "Bob"
  score: number 0.25 to 24.75 or null
  tags: array of 0 to 3, each: text, such as "new"
  home: object with 2 keys
    city: text, such as "Köln"
    "post code": text, such as "00", "01"
  left: true/false (in 10 of 100)"""


def test_json_has_its_shape_shown() -> None:
    text = json.dumps(people(100), ensure_ascii=False)
    wanted = f"JSON: array of 100, each: object with 6 keys\n{PEOPLE}"
    assert synopsis(text, ROOM) == wanted
    assert synopsis(json.dumps(people(100), indent=2) + EXIT, ROOM) == wanted
    assert synopsis(text.replace(", ", ",\r\n"), ROOM) == wanted


def test_lines_of_json_are_told_as_one_shape() -> None:
    lines = [json.dumps(person) for person in people(100)]
    assert synopsis("\n".join(lines), ROOM).split("\n", 1)[1] == PEOPLE
    broken = "\r\n".join([*lines[:50], '{"id": 1, "na', *lines[50:]])
    assert synopsis(broken, ROOM).startswith("JSON lines: 101, 1 of them broken: object with 6")


def test_broken_json_is_told_up_to_the_break() -> None:
    whole = json.dumps({"found": people(100)}, indent=1)
    cut = whole[: whole.index('"id": 60,')]
    said = synopsis(cut, ROOM)
    assert re.match(r"JSON; broken at character [\d,]+ \(line 743\), what stands before it:", said)
    assert "  found: array of 60, each: object with 6 keys\n    id: integer 0 to 59\n" in said
    middle = f"{cut}\n[… 12,345 bytes left out …]\n{whole[-200:]}"
    assert "  found: array of 60, each:" in synopsis(middle, ROOM)


def test_json_that_something_follows_is_told_with_a_word_on_it() -> None:
    whole = json.dumps(people(100), ensure_ascii=False)
    said = synopsis(f"{whole}\nDone in 3 s.", ROOM)
    assert said == (
        "JSON; behind it 12 characters that are no part of it: "
        f"array of 100, each: object with 6 keys\n{PEOPLE}"
    )
    assert synopsis("\ufeff" + whole, ROOM) == synopsis(whole, ROOM)
    assert synopsis(whole + "\n" + "And so on, and on.\n" * 300, ROOM) == ""


def test_lines_of_arrays_are_no_table() -> None:
    lines = "\n".join(json.dumps([n, "x", [n / 4]]) for n in range(100))
    assert synopsis(lines, ROOM) == (
        'JSON lines: 100: array of 3, each: integer 0 to 99 or text, such as "x" or '
        "array of 1, each: number 0.0 to 24.75"
    )


def test_what_is_no_number_has_no_place_in_a_span() -> None:
    text = json.dumps([1.5, float("nan"), 2.5] * 100)
    assert synopsis(text, ROOM) == "JSON: array of 300, each: number 1.5 to 2.5"


def test_the_shape_is_as_deep_as_there_is_room() -> None:
    deep: dict[str, Any] = {}
    for level in range(9):
        deep = {f"{key}{level}": deep for key in "ab"}
    text = json.dumps({"first": people(10), "deep": deep, "last": 7}, indent=1)
    assert "post code" in synopsis(text, ROOM)
    short = synopsis(text, 150)
    assert "post code" not in short
    assert short.endswith("  last: integer 7")
    assert synopsis("[" * 100_000, ROOM) == ""


def test_keys_that_are_data_are_not_listed() -> None:
    text = json.dumps({f"user {n}": {"age": n} for n in range(500)})
    assert synopsis(text, ROOM).splitlines() == [
        "JSON: object with 500 keys",
        "  keys such as " + ", ".join(f'"user {n}"' for n in range(8)),
        "  each value: object with 1 key",
        "    age: integer 0 to 499",
    ]


def table(delimiter: str, end: str, *, header: bool = True) -> str:
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter=delimiter, lineterminator=end)
    if header:
        writer.writerow(["id", "name", "day", "price", "code", "paid"])
    for n in range(200):
        name = ('Ann "A"', "Bob\nthe second", f"李雷{delimiter} 先生", "NA")[n % 4]
        price = "" if n % 10 == 0 else f"{n / 4}"
        writer.writerow([n, name, f"2024-01-{n % 28 + 1:02}", price, f"0{n}", n % 2 == 0])
    return file.getvalue()


@pytest.mark.parametrize(("delimiter", "word"), [(",", "comma"), ("\t", "tab"), (";", "semicolon")])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_table_has_its_columns_told(delimiter: str, word: str, end: str) -> None:
    assert synopsis(table(delimiter, end) + "[exit code 0]", ROOM).splitlines() == [
        f"Table, separated by {word}: 200 rows, 6 columns, and a header",
        "  id: integer, 0 to 199",
        '  name: text, 3 different, such as "Ann "A"", "Bob the second", '
        f'"李雷{delimiter.strip()} 先生", at most 14 characters, 50 missing',
        "  day: date, 2024-01-01 to 2024-01-28",
        "  price: number, 0.25 to 49.75, 20 missing",
        '  code: text, 200 different, such as "00", "01", "02", at most 4 characters',
        "  paid: true/false",
    ]


def test_a_table_without_a_header_needs_numbers() -> None:
    said = synopsis(table(",", "\n", header=False), ROOM)
    assert said.startswith(
        "Table, separated by comma: 200 rows, 6 columns, no header\n  1: integer"
    )
    assert synopsis("red, green, blue and more of it\n" * 400, ROOM) == ""


def test_a_table_may_have_rows_of_another_length() -> None:
    rows = [f"{n},Bob,{n * 2}" + ("" if n % 7 else ",more") for n in range(300)]
    said = synopsis("id,name,sum\n" + "\n".join(rows), ROOM).splitlines()
    assert said[0] == (
        "Table, separated by comma: 300 rows, 3 columns, and a header; "
        "rows with another number of cells: 43"
    )
    assert said[1] == "  id: integer, 0 to 299"
    assert synopsis("id,name,sum\n" + "1,2,3\n1,2\n" * 100, ROOM) == "", "half of them"


def log(count: int) -> str:
    lines = []
    for n in range(count):
        level = "ERROR" if n % 100 == 7 else "WARN" if n % 50 == 3 else "INFO"
        said = f"connection {n} to 10.0.0.{n % 9} took {n * 3} ms" if level != "INFO" else "好"
        lines.append(f"2024-05-01 12:{n // 60:02}:{n % 60:02},{n:03} {level} [db] {said}")
    lines.insert(9, "Traceback (most recent call last):\n  File x, line 1")
    return "\n".join(lines)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_log_has_its_levels_counted(end: str) -> None:
    assert synopsis(log(800).replace("\n", end) + EXIT, ROOM).splitlines() == [
        "Log: 802 lines, 2024-05-01 12:00:00,000 to 2024-05-01 12:13:19,799; "
        "ERROR 8, WARNING 16, INFO 776",
        "  different errors and warnings, numbers as #:",
        "  8 times, first in line 8: ERROR [db] connection # to # took # ms",
        "  16 times, first in line 4: WARN [db] connection # to # took # ms",
    ]


TRACES = {
    "python": (
        'Traceback (most recent call last):\n  File "x.py", line 3, in f\n    go()\n'
        "urllib3.exceptions.ReadTimeoutError: after {n} s",
        "urllib#.exceptions.ReadTimeoutError: after # s",
    ),
    "java": (
        'Exception in thread "main" java.lang.IllegalStateException: no {n}\n'
        "\tat a.b.C.run(C.java:7)\n\tat a.b.D.run(D.java:8)\n\t... 3 more",
        'Exception in thread "main" java.lang.IllegalStateException: no #',
    ),
}


@pytest.mark.parametrize("language", TRACES)
def test_a_log_that_is_mostly_tracebacks(language: str) -> None:
    trace, template = TRACES[language]
    entry = "2024-05-01 12:00:00 INFO begun\n"
    text = "".join(entry + trace.format(n=number) + "\n" for number in range(100))
    lines = text.count("\n")
    assert synopsis(text, ROOM).splitlines() == [
        f"Log: {lines:,} lines, 2024-05-01 12:00:00 to 2024-05-01 12:00:00; INFO 100; "
        "exceptions 100",
        "  different errors and warnings, numbers as #:",
        f"  100 times, first in line {5 if language == 'python' else 2}: {template}",
    ]


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ("INFO:root:message {n}", "INFO 300"),
        ("[2024-05-01T10:00:00Z] error: disk {n}", "no levels"),
        ('level=error ts=2024-05-01T10:00:00Z msg="no {n}"', "ERROR 300"),
        ("May  1 10:00:00 host kernel[{n}]: WARNING: hot", "WARNING 300"),
        ("[10:00:00] [Server thread/INFO]: player {n}", "INFO 300"),
        ('1.2.3.4 - - [01/May/2024:10:00:00 +0200] "GET /{n} HTTP/1.1" 200 12', "no levels"),
    ],
)
def test_logs_of_many_forms(line: str, level: str) -> None:
    text = "\n".join(line.format(n=number) for number in range(300))
    said = synopsis(text, ROOM).splitlines()[0]
    assert said.startswith("Log: 300 lines")
    assert level in said


def test_numbers_and_ids_are_folded() -> None:
    line = " at 0x7fAB: id 123e4567-e89b-12d3-a456-426614174000, 3.5 s, deadbeef12345678 x2"
    assert template_of(line) == "at #: id #, # s, # x#"


PYTHON = ROOT / "state" / "plan_changes.py"


def test_python_has_its_outline_shown() -> None:
    code = PYTHON.read_text("utf-8")
    said = synopsis(code + EXIT, ROOM).splitlines()
    names = re.findall(r"^(?:class|def) (\w+)", code, re.M)
    assert said[0].startswith(f"Python: {code.count(chr(10)):,} lines, ")
    found = [re.fullmatch(r" +(\d+) (?:class|def) (\w+)(?:\(.*\))?", line) for line in said[1:]]
    assert [m[2] for m in found if m] == names
    lines = code.splitlines()
    assert all(f" {m[2]}" in lines[int(m[1]) - 1] for m in found if m)


def test_numbers_before_the_lines_are_those_of_the_file() -> None:
    lines = PYTHON.read_text("utf-8").splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("class "))
    numbered = (f"{number:6}\t{line}" for number, line in enumerate(lines[first:], first + 1))
    said = synopsis("\n".join(numbered), ROOM).splitlines()
    [mark] = [line for line in said if "def mark(" in line]
    assert lines[int(mark.split()[0]) - 1].startswith("def mark(")


def test_of_code_with_too_many_methods_the_outermost_are_shown() -> None:
    code = "".join(
        f"class Kind{k}:\n"
        + "".join(f"    def method_{m}(self):\n        ...\n" for m in range(20))
        for k in range(10)
    )
    said = synopsis(code, 600).splitlines()
    assert said[0].endswith("by line; those inside others left out")
    assert [line.split()[-1] for line in said[1:]] == [f"Kind{k}" for k in range(10)]


CODES = {
    "JavaScript or TypeScript": (
        "import { a } from './a'\nexport class A{n} {{\n  run() {{ return 1 }}\n}}\n"
        "export async function load{n}(x) {{\n  return x;\n}}\nconst f{n} = (x) => {{\n}}\n"
    ),
    "Go": "package main\nfunc (s *Server) Run{n}(x int) error {{\n\treturn nil\n}}\n"
    "type Point{n} struct {{\n\tX int\n}}\n",
    "Rust": "use std::io;\npub struct Point{n} {{\n  x: i32,\n}}\nimpl Point{n} {{\n"
    "  pub async fn new(x: i32) -> Self {{\n  }}\n}}\n",
    "C or C++": '#include "x.h"\nstatic int\tsum{n}(int a, int b)\n{{\n  return a + b;\n}}\n'
    "struct point{n} {{\n  int x;\n}};\nvoid print{n}(const char *text) {{\n  go(text);\n}}\n",
    "Java, Kotlin or C#": "package a.b;\npublic class Shop{n} extends Base {{\n"
    "  private static int count(List<String> x) {{\n    return 1;\n  }}\n}}\n",
    "Ruby": "module Shop{n}\n  class Cart\n    def add(item)\n      @items << item\n    end\n"
    "  end\nend\n",
    "PHP": "<?php\nclass A{n} {{\n  public function run($x) {{\n    return 1;\n  }}\n}}\n",
    "SQL": "CREATE TABLE t{n} (\n  id INTEGER,\n  name TEXT\n);\nCREATE INDEX i{n} ON t{n} (id);\n",
    "Shell": "#!/usr/bin/env bash\nrun{n}() {{\n  echo 1\n}}\n",
}


@pytest.mark.parametrize("language", CODES)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_code_of_other_languages_has_its_outline(language: str, end: str) -> None:
    piece = CODES[language]
    code = "".join(
        piece.replace("{n}", str(n)).replace("{{", "{").replace("}}", "}") for n in range(20)
    )
    said = synopsis(code.replace("\n", end), 20_000)
    assert said.startswith(f"{language}: {code.count(chr(10)):,} lines, ")
    lines = code.splitlines()
    for line in said.splitlines()[1:]:
        number, _, text = line.strip().partition(" ")
        assert lines[int(number) - 1].replace("\t", "  ").startswith(text)


@pytest.mark.parametrize(
    "text",
    [
        "The quick brown fox, it is said, jumped over the lazy dog.\n" * 400,
        "一二三，四五六。\n" * 1_000,
        "[12, 13] was the score; [14] came later.\n" * 400,
        "{this is no JSON at all}\n" * 400,
        "total 12\n" + "-rw-r--r-- 1 root root  123 2024-01-01 10:00 file\n" * 300,
        "README.md\nsrc/main.py\ntests/test_main.py\n" * 200,
        "src/a.py:12:def run(self):\n" * 300,
        "diff --git a/x.py b/x.py\n" + "+import os\n def run():\n-class A:\n" * 100,
        "Name: Ann, Age: 3\nSize: 4\n\n" * 200,
        "# Title\n\nSome `code` and a list:\n\n- one\n- two\n" * 100,
        "<html><body>" + "<p>function a() { return 1 }</p>\n" * 300,
        "function a(b){return b}" * 4_000,
        ("import a from 'a';" + "function a(b){return b}" * 40 + "\n") * 60,
        "👨‍👩‍👧‍👦 и 北京\n" * 3_000,
        "".join(map(chr, range(256))) * 200,
        "x" * 50_000,
        "\n" * 50_000,
        "1\n" * 5_000,
        "\ud800\x00\x0b\u2028" * 3_000,
    ],
)
def test_what_is_not_certain_has_no_synopsis(text: str) -> None:
    assert synopsis(text, ROOM) == ""


@given(st.text(), st.integers(0, 400))
def test_any_text_is_survived_and_the_room_is_kept(text: str, room: int) -> None:
    for given_text in (
        text * 40,
        f"{{{text}" * 20,
        f"[{text},\n" * 60,
        f"a,b,c\n{text},1,2\n" * 40,
    ):
        assert len(synopsis(given_text, room)) <= room


def test_the_lines_that_find_no_room_are_counted() -> None:
    lines = [f"line {n}" for n in range(100)]
    said = fitted(lines, 200)
    assert len(said) <= 200
    shown = said.splitlines()
    assert shown[-1] == f"  … {100 - len(shown) + 1} more lines of this synopsis"
    assert fitted(lines, 5) == ""


def large(text: str) -> str:
    """Fifty million characters and more of it."""
    return text * (50_000_000 // len(text) + 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "begins"),
    [
        (lambda: f"[{large(json.dumps(people(50))[1:-1] + ',')}1]", "JSON; the first 8,388,"),
        (lambda: large(json.dumps(people(1)[0]) + "\n"), "JSON lines: "),
        (lambda: large(table(",", "\n")), "Table, separated by comma: "),
        (lambda: large(log(500) + "\n"), "Log: "),
        (lambda: large(PYTHON.read_text("utf-8")), "Python: "),
        (lambda: large('{"a": '), ""),
        (lambda: large(")"), ""),
        (lambda: large("a b(c, "), ""),
    ],
)
def test_fifty_megabytes_are_looked_at_in_part(text: Any, begins: str) -> None:
    said = synopsis(text(), ROOM)
    assert said.startswith(begins) if begins else said == ""
    assert not begins or re.search(r"first [\d,]+", said.splitlines()[0])


async def cat(session: Session, name: str, limit: int) -> str:
    task = ToolTask(index=0, id="c", name="bash", args={"command": f"cat {name}"})
    catalog = Catalog([Bash(session=session)])
    done = await execute(task, session=session, catalog=catalog, key="k", max_observe=limit)
    return str(done.message.text)


@pytest.mark.parametrize(
    ("name", "text", "begins"),
    [
        ("people.json", json.dumps(people(300), ensure_ascii=False), "JSON: array of 300, each:"),
        ("many.json", json.dumps(people(3_000)), "JSON: array of 3,000, looked at in part, each:"),
        ("table.csv", table(",", "\r\n"), "Table, separated by comma: 200 rows"),
        ("app.log", log(900), "Log: 902 lines"),
        ("code.py", PYTHON.read_text("utf-8"), "Python: "),
    ],
)
async def test_a_file_that_a_command_prints_comes_with_its_synopsis(
    session: Session, name: str, text: str, begins: str
) -> None:
    session.workspace.writable(name).write_bytes(text.encode())
    said = await cat(session, name, 3_000)
    assert said.startswith(f"[Synopsis of the whole] {begins}")
    assert len(said) <= 3_000
    assert said.endswith("\n[exit code 0]")
    head = said.partition("\n[Its beginning and its end]\n")[2]
    assert head.startswith(text[:200].replace("\r\n", "\n") if "\r" not in head else text[:200])
    note = re.search(r"\[… ([\d,]+) of ([\d,]+) characters left out; all \2 are in (\S+) …\]", said)
    assert note is not None
    kept = (session.workspace.root / note[3]).read_bytes().decode()
    assert kept.removesuffix("\n[exit code 0]").rstrip() == text.rstrip()


def test_a_small_limit_has_no_room_for_a_synopsis(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    text = json.dumps(people(300))
    assert "Synopsis" not in cut_observation(text, 900, workspace)
    assert len(cut_observation(text, 1_000, workspace)) <= 1_000
