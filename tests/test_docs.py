"""The pages: the reference is what the code says, and every link leads somewhere."""

import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")])
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]+`")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The places in a page that can be linked to."""
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    plain = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in _HEADING.findall(text)]
    return {heading.strip().replace(" ", "-") for heading in plain}


def test_the_reference_is_up_to_date() -> None:
    command = [sys.executable, "scripts/write_reference.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100)
    said = f"run `make docs`: {done.stdout}{done.stderr}"
    assert (done.returncode, done.stdout) == (0, ""), said


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    text = _CODE.sub("", _FENCED.sub("", page.read_text(encoding="utf-8")))
    for link in _LINK.findall(text):
        if link.startswith(("http://", "https://", "mailto:")):
            continue
        file, _, place = unquote(link).partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), f"{page.name} links to {link}, which is not there"
        if place and target.suffix == ".md":
            assert place in anchors(target), f"{page.name}: {link} names no heading of that page"
