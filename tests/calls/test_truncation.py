"""How much of a program's output is shown, by its size and by how much it repeats itself."""

import argparse
from itertools import pairwise
from pathlib import Path

import pytest

from manus.calls.truncation import HEAD_OF_OUTPUT, max_tokens_for, truncate
from manus.prompts.sources import COMMAND
from manus.workspace.workspace import Workspace

SOURCE = Path(argparse.__file__).read_text() * 2
LOG = "".join(f"2026-11-28 10:{n % 60:02} GET /item/{n} 200 in {n % 97} ms\n" for n in range(5_000))


def show(text: str, workspace: Path) -> int:
    """Return how many characters of a program's output are shown."""
    tokens = max_tokens_for(COMMAND)
    place = Workspace(workspace)
    return len(truncate(text, 10_000, place, head=HEAD_OF_OUTPUT, max_tokens=tokens))


@pytest.mark.parametrize(
    ("text", "smallest", "largest"),
    [
        (SOURCE[:15_900], 15_900, 15_900),
        (LOG[:9_900], 9_900, 9_900),
        (LOG[:100_000], 1_500, 3_500),
        (SOURCE[:100_000], 1_500, 5_000),
        ("yes\n" * 30_000, 500, 3_500),
    ],
    ids=["source", "short log", "flood", "long source", "yes"],
)
def test_floods_are_cut_and_source_is_whole(
    tmp_path: Path, text: str, smallest: int, largest: int
) -> None:
    assert smallest <= show(text, tmp_path) <= largest


@pytest.mark.parametrize("text", [SOURCE, LOG], ids=["source", "log"])
def test_a_little_more_output_does_not_show_much_less(tmp_path: Path, text: str) -> None:
    step = 500
    sizes = [show(text[:length], tmp_path) for length in range(9_000, 50_000, step)]
    assert min(after - before for before, after in pairwise(sizes)) > -3 * step
