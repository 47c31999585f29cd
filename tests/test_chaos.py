"""A short form of `make chaos`: no call is executed twice, and none is silently lost."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.chaos import KINDS
from tests.threads.postgres_server import binaries

ROOT = Path(__file__).parents[1]


@pytest.mark.sample(every=len(KINDS))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "has_database",
    [
        False,
        pytest.param(
            True,
            marks=[
                pytest.mark.exhaustive,
                pytest.mark.skipif(binaries() is None, reason="PostgreSQL is missing"),
            ],
        ),
    ],
    ids=["sqlite", "postgres"],
)
def test_kills_at_random_moments(
    kind: str, has_database: bool, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    options = ["--kind", kind, "--kills", "3"]
    if has_database:
        options += ["--postgres", request.getfixturevalue("postgres").new_database(), "--only"]
    environment = {**os.environ, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    process = subprocess.run(
        [sys.executable, "-m", "benchmarks.chaos", *options],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    [row] = [line for line in process.stdout.splitlines() if line.startswith(f"| {kind} |")]
    _, _, kills, executed, doubled, lost, _ = row.strip("| ").split(" | ")
    assert int(kills) >= 3
    assert int(executed) >= 7
    assert (doubled, lost) == ("0", "0"), process.stdout
