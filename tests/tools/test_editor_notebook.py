"""Notebooks in the editor: cells are shown, edited by their sources, and never broken."""

# mypy: disallow-untyped-calls=False

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat import v4

from tests.helpers.edits import Edit, get_error, get_output

OUTPUTS = [
    v4.new_output("stream", text="hello\n10%\r90%\n"),
    v4.new_output("display_data", {"image/png": "iVBORw0KGgo=", "text/plain": "<Figure>"}),
    v4.new_output("error", ename="E", evalue="x", traceback=["\x1b[31mTraceback\x1b[0m", "E: x"]),
]
CELLS = [
    v4.new_markdown_cell("# Tïtle\n\nText"),
    v4.new_code_cell('x = 1\nprint("a\\tb", x)', outputs=OUTPUTS, execution_count=1),
    v4.new_code_cell("x = 1\n"),
    v4.new_code_cell(""),
]


@pytest.fixture
def path(root: Path) -> Path:
    path = root / "n.ipynb"
    nbformat.write(v4.new_notebook(cells=CELLS), path)
    return path


VIEW = """\
     1\t── cell 1: markdown ──
     2\t# Tïtle
     3\t
     4\tText
     5\t── cell 2: code ──
     6\tx = 1
     7\tprint("a\\tb", x)
     8\t── output of cell 2 ──
     9\thello
    10\t90%
    11\t── output of cell 2 ──
    12\t[image/png]
    13\t<Figure>
    14\t── output of cell 2 ──
    15\tTraceback
    16\tE: x
    17\t── cell 3: code ──
    18\tx = 1
    19\t── cell 4: code ──
    20\t"""


async def test_a_notebook_is_shown_as_its_cells(edit: Edit, path: Path) -> None:
    title, _, cells = (await get_output(edit("view", "n.ipynb"))).partition("\n")
    assert title == "n.ipynb, as the cells of a notebook (20 lines):"
    assert cells == VIEW
    assert "iVBOR" not in cells
    path.write_text("{")
    assert "n.ipynb (1 line" in await get_output(edit("view", "n.ipynb")), "a broken one is text"


EDITS = [
    ('print("a\\tb", x)', "print(x)", 1, "x = 1\nprint(x)"),
    ('x = 1\nprint("a', 'y = "é"\nprint("a', 1, 'y = "é"\nprint("a\\tb", x)'),
    ("# Tïtle\n\nText", "# 2", 0, "# 2"),
    ("\n\nText", "", 0, "# Tïtle"),
    ("Tïtle", "Title", 0, "# Title\n\nText"),
]


@pytest.mark.parametrize(("old", "new", "cell", "source"), EDITS)
async def test_a_source_is_edited_as_it_is_shown(
    edit: Edit, path: Path, old: str, new: str, cell: int, source: str
) -> None:
    before = path.read_bytes()
    expected = json.loads(before)
    expected["cells"][cell]["source"] = source.splitlines(keepends=True)
    await get_output(edit("str_replace", "n.ipynb", old_str=old, new_str=new))
    assert json.loads(path.read_bytes()) == expected
    nbformat.validate(nbformat.read(path, 4))
    changed = set(path.read_text().splitlines()) ^ set(before.decode().splitlines())
    assert all(line.startswith("   ") for line in changed), "only lines of the source differ"
    await get_output(edit("undo_edit", "n.ipynb"))
    assert path.read_bytes() == before


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("str_replace", {"old_str": '"cells": [', "new_str": "cells"}, "not be a notebook"),
    ("str_replace", {"old_str": '"nbformat": 4', "new_str": '"nbformat": "4"'}, "`nbformat`"),
    ("str_replace", {"old_str": '"cell_type": "markdown",'}, "cell 1 has no `cell_type`"),
    ("str_replace", {"old_str": 'x = 1\\n",', "new_str": 'x = "1"\\n",'}, "not be a notebook"),
    ("str_replace", {"old_str": "hello there"}, "`old_str` is not in n.ipynb"),
    ("str_replace", {"old_str": "\n"}, "not unique"),
    ("insert", {"insert_line": 3, "new_str": "y = 2"}, "as `view` shows the source of a cell"),
    ("create", {"file_text": "x = 1\n"}, "not be a notebook"),
    ("create", {"file_text": "[]"}, "no list of `cells`"),
]


@pytest.mark.parametrize(("command", "arguments", "message"), REFUSED)
async def test_an_edit_that_would_break_a_notebook_is_refused(
    edit: Edit, path: Path, command: str, arguments: dict[str, Any], message: str
) -> None:
    before = path.read_bytes()
    assert message in await get_error(edit(command, "n.ipynb", **arguments))
    assert path.read_bytes() == before


async def test_a_text_in_several_cells_is_not_replaced(edit: Edit, path: Path) -> None:
    cells = [v4.new_code_cell("a\nb"), v4.new_code_cell("a\nb\n")]
    nbformat.write(v4.new_notebook(cells=cells), path)
    error = await get_error(edit("str_replace", "n.ipynb", old_str="a\nb", new_str="c"))
    assert "2 times, in the cells 1, 2" in error
