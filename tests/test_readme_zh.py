"""The two READMEs are kept in step: what is not prose is the same in both, section by section."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[1]
ENGLISH, CHINESE = ROOT / "README.md", ROOT / "README.zh.md"
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
_WORD = re.compile(r"[^\W\d_]")


@dataclass
class Section:
    """What a heading and the text below it have in common with their translation."""

    heading: str
    level: int
    fences: list[tuple[str, str]] = field(default_factory=list)
    """Language and text of the code blocks."""
    tables: list[list[list[str]]] = field(default_factory=list)
    """What of each cell is not to be translated."""
    items: int = 0
    links: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)


def sections(markdown: str) -> list[Section]:
    """The sections of a page, in their order."""
    tokens = MarkdownIt("commonmark").enable("table").parse(markdown)
    found = [Section("(before the first heading)", 0)]
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            found.append(Section(tokens[place + 1].content, int(token.tag[1:])))
        add(found[-1], token, is_cell=tokens[place - 1].type in ("th_open", "td_open"))
    return found


def add(section: Section, token: Token, *, is_cell: bool) -> None:
    if token.type == "fence":
        section.fences.append((token.info, token.content))
    elif token.type == "table_open":
        section.tables.append([])
    elif token.type == "tr_open":
        section.tables[-1].append([])
    elif token.type == "list_item_open":
        section.items += 1
    elif token.type == "inline":
        add_text(section, token.children or [])
        if is_cell:
            section.tables[-1][-1].append(fixed(token))


def add_text(section: Section, parts: list[Token]) -> None:
    section.links += [str(one.attrGet("href")) for one in parts if one.type == "link_open"]
    section.code += [one.content for one in parts if one.type == "code_inline"]
    prose = " ".join(one.content for one in parts if one.type == "text")
    section.figures += _FIGURE.findall(prose)


def fixed(cell: Token) -> str:
    """What of a cell is the same in every language: all of it, or its code and its figures."""
    if not _WORD.search(cell.content):
        return cell.content
    return " ".join(re.findall(rf"`[^`]+`|{_FIGURE.pattern}", cell.content))


def differences(english: str, chinese: str) -> list[str]:
    """What is in one of the pages and not in the other, section by section."""
    one, other = sections(english), sections(chinese)
    levels, others = [s.level for s in one], [s.level for s in other]
    if levels != others:
        return [f"the levels of the headings differ: {levels}, {others}"]
    return [said for pair in zip(one, other, strict=True) for said in unlike(*pair)]


def unlike(one: Section, other: Section) -> list[str]:
    # a sentence may be turned round in a translation: what is in it has no order
    pairs: dict[str, tuple[object, object]] = {
        "code blocks": (one.fences, other.fences),
        "tables": (one.tables, other.tables),
        "items of lists": (one.items, other.items),
        "links": (sorted(map(told, one.links)), sorted(map(told, other.links))),
        "words in code": (sorted(one.code), sorted(other.code)),
        "figures": (sorted(one.figures), sorted(other.figures)),
    }
    return [
        f"“{one.heading}” and “{other.heading}” have different {what}: {mine}, {its}"
        for what, (mine, its) in pairs.items()
        if mine != its
    ]


def told(link: str) -> str:
    """A link as it is compared: each page links to the other one."""
    return "the other page" if link in (ENGLISH.name, CHINESE.name) else link


def test_the_translation_is_in_step() -> None:
    found = differences(ENGLISH.read_text("utf-8"), CHINESE.read_text("utf-8"))
    assert not found, "change README.md and README.zh.md together:\n" + "\n".join(found)


def test_each_links_to_the_other_at_its_top() -> None:
    english, chinese = (sections(page.read_text("utf-8"))[1] for page in (ENGLISH, CHINESE))
    assert english.links[0] == CHINESE.name
    assert chinese.links[0] == ENGLISH.name


def test_no_mark_of_markdown_is_left_in_the_text() -> None:
    """Beside Chinese punctuation a pair of stars may mean nothing, and is then shown."""
    tokens = MarkdownIt("commonmark").enable("table").parse(CHINESE.read_text("utf-8"))
    texts = [part for token in tokens for part in token.children or [] if part.type == "text"]
    assert not [part.content for part in texts if "**" in part.content or "`" in part.content]
