"""A demo says before it starts what the machine lacks, and how to get it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.program import Program

pytestmark = pytest.mark.exhaustive

# without some packages, as in an installation without extras
WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
sys.argv[:] = ["manus", *sys.argv[1:]]
from manus.cli import main
sys.exit(main())
"""


@pytest.mark.parametrize("missing", [("altair", "pandas", "vl_convert"), ("vl_convert",)])
def test_a_missing_package(bare: Program, tmp_path: Path, missing: tuple[str, ...]) -> None:
    script = tmp_path / "without.py"
    script.write_text(WITHOUT.format(missing=missing))
    folder = tmp_path / "folder"
    folder.mkdir()
    process = subprocess.run(
        [sys.executable, str(script), "demo", "rentals"],
        cwd=bare.home,
        env={**bare.environment, "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert process.returncode == 2
    assert f"needs {', '.join(missing)}: install them with" in process.stderr
    assert process.stderr.count("\n") == 1
    assert not [*folder.iterdir()]


def test_a_missing_browser(bare: Program) -> None:
    result = bare("demo", "tips", MANUS_BROWSER_PATH="/nowhere/chromium")
    assert result.code == 2
    assert "needs a browser" in result.err
    assert "/nowhere/chromium, which does not exist" in result.err
