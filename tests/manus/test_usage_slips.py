"""Slips of the keyboard are answered with what was probably meant."""

from pathlib import Path

import pytest

from manus.report import program
from tests.manus.program import Program


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("runn x", "'runn' (did you mean run?); `manus --help`"),
        ("zzz", "'zzz'; `manus --help`"),
        ("mcp lst", "'lst' (did you mean list?); `manus mcp --help`"),
        (
            "run --modle x y",
            "'--modle' (did you mean --model?); `manus run --help`",
        ),
        ("run --modle=x y", "'--modle' (did you mean --model?); `manus run --help`"),
        ("threads delete x", "(delete x); `manus threads --help`"),
        (
            "--versoin",
            "'--versoin' (did you mean --version?); `manus --help`",
        ),
    ],
)
def test_a_slip(bare: Program, typed: str, said: str) -> None:
    result = bare(*typed.split())
    assert result.code == 2
    assert said in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("typed", ["help", "help run"])
def test_help_as_a_command(bare: Program, typed: str) -> None:
    result = bare(*typed.split())
    assert (result.code, result.err) == (0, "")
    assert result.out == bare(*typed.split()[1:], "--help").out


def test_what_to_type_is_found_by_the_shell(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for folder in ("here", "my files"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "manus").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "here"))
    monkeypatch.chdir(tmp_path)
    for typed, wanted in {
        str(tmp_path / "here/manus"): "manus",
        "my files/manus": "'my files/manus'",
        str(tmp_path / "my files/manus"): f"'{tmp_path}/my files/manus'",
        str(tmp_path / "manus/__main__.py"): "manus",
    }.items():
        monkeypatch.setattr("sys.argv", [typed])
        assert program() == wanted
