"""The pages: the reference is what the code says, and every link leads somewhere."""

import re
import runpy
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


def test_the_reference_is_up_to_date(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["write_reference.py", "--check"])
    code = runpy.run_path(str(ROOT / "scripts" / "write_reference.py"))["main"]()
    assert (code, capsys.readouterr().out) == (0, ""), "run `make docs`"


def test_every_link_leads_somewhere() -> None:
    for page in PAGES:
        _check_links(page)


def _check_links(page: Path) -> None:
    text = _CODE.sub("", _FENCED.sub("", page.read_text(encoding="utf-8")))
    for link in _LINK.findall(text):
        if link.startswith(("http://", "https://", "mailto:")):
            continue
        file, _, place = unquote(link).partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), f"{page.name} links to {link}, which is not there"
        if place and target.suffix == ".md":
            assert place in anchors(target), f"{page.name}: {link} names no heading of that page"
