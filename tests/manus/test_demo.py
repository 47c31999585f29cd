"""`manus demo`: recorded runs with real tools, each of which ends in a report."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from manus.commands.demo import DEMOS
from tests.manus.program import Program


# the test of the wheel plays the calculator
@pytest.mark.parametrize("name", [name for name in DEMOS if name != "calculator"])
def test_it_plays_and_ends_in_a_report(bare: Program, name: str) -> None:
    (bare.home / "manus.toml").write_text('[roles.plan]\nmodel = "nobody:there"\n')
    # a short place: Chromium makes a socket there, whose path may not be long
    with TemporaryDirectory() as folder:
        result = bare("demo", name, TMPDIR=folder, MANUS_MAX_STEPS="1")
        assert result.code == 0, result.err
        [report] = [Path(path) for path in re.findall(r"(\S+report\.html)", result.err)]
        assert report.is_relative_to(folder)
        assert DEMOS[name].request[:20] in report.read_text()


def test_they_are_listed(bare: Program) -> None:
    assert re.findall(r"^  (\w+)", bare("demo").out, re.MULTILINE) == list(DEMOS)
    assert bare("demo", "nothing").code == 2
