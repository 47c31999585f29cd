"""`make_report`: Markdown as one HTML file with the charts in it.

HTML in the Markdown is text; nothing in the result fetches anything.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import re
from collections import Counter
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import unquote

from jinja2 import Environment, PackageLoader
from markupsafe import Markup
from pydantic import BaseModel, Field
from typing_extensions import override

from manus.execution.base import AgentTool, Arguments
from manus.execution.result import Observation
from manus.execution.text_files import image_type, read_file, replace_file
from manus.execution.workspace import WORKSPACE, Workspace
from manus.prompts.data import REPORT
from manus.state.errors import ToolError

if TYPE_CHECKING:
    from markdown_it.token import Token

LONGEST = 200_000
"""Characters of the Markdown of a report: the parser's time grows faster than odd text does."""
_NAMED = 5
"""Things left out that an answer names; of more it gives the number."""
_LEFT_OVER = re.compile(r"!\[[^\]\n]*\]\([^)\n]+\)")
_PAGES = (".html", ".htm")
_WEB = re.compile(r"https?:", re.IGNORECASE)


class MakeReportArgs(Arguments):
    """Arguments of `make_report`."""

    markdown: str = Field("", description="The report in Markdown; or give `source`")
    source: str = Field("", description="Path of a Markdown file in the workspace, instead")
    output: str = Field("report.html", description="Path of the HTML file that is made")
    title: str = Field("", max_length=300, description="Page title (default: the first heading)")


class MakeReport(AgentTool):
    """Makes reports."""

    name: str = "make_report"
    description: str = REPORT
    args_schema: type[BaseModel] = MakeReportArgs
    uses: ClassVar[str] = WORKSPACE

    @override
    async def observe(self, **arguments: Any) -> Observation:
        wanted = MakeReportArgs.model_validate(arguments)
        if bool(wanted.markdown.strip()) == bool(wanted.source.strip()):
            raise ToolError("Give either `markdown`, the text, or `source`, the path of a file.")
        return Observation(await asyncio.to_thread(_make, wanted, self.session.workspace))


def _make(wanted: MakeReportArgs, workspace: Workspace) -> str:
    """The report, written; and what to say of it. Blocking."""
    output = workspace.writable(wanted.output)
    if output.suffix.lower() not in _PAGES:
        raise ToolError(f"`output` is {wanted.output}, and a report is HTML; end it with `.html`.")
    markdown, folder = _markdown(wanted, workspace)
    pictures = _Pictures(workspace, folder)
    page, tables = _to_page(markdown, wanted.title.strip(), pictures)
    data = page.encode("utf-8", "replace")
    shown = workspace.show(output)
    try:
        replace_file(output, data)
    except OSError as error:
        raise ToolError(f"{shown} cannot be written: {error.strerror}.") from None
    lines = [
        f"{shown}: {_count(pictures.count, 'picture')} and {_count(tables, 'table')}, "
        f"{len(data):,} bytes; one file that works offline."
    ]
    if pictures.links:
        lines.append(f"Not fetched, and left as links: {_some(pictures.links)}.")
    if pictures.missing:
        lines.append(
            f"There is no picture {_some(pictures.missing)}; its text stands there instead. "
            f"{_draft(wanted, output, workspace)} (A path with spaces belongs between < and >.)"
        )
    return "\n".join(lines)


def _draft(wanted: MakeReportArgs, output: Path, workspace: Workspace) -> str:
    """How to correct the Markdown without writing all of it again; keeps what came in the call."""
    if wanted.source.strip():
        return "Correct the path and make the report again."
    kept = workspace.writable(f"{workspace.show(output)}.md")
    replace_file(kept, wanted.markdown.encode("utf-8", "replace"))
    shown = workspace.show(kept)
    return f"The Markdown is kept: correct the path in {shown} and give that as `source`."


def _markdown(wanted: MakeReportArgs, workspace: Workspace) -> tuple[str, Path]:
    """The Markdown, and the folder from which it names its pictures."""
    text = wanted.markdown
    shown = "`markdown`"
    folder = workspace.root
    if wanted.source.strip():
        source = workspace.readable(wanted.source)
        shown = workspace.show(source)
        folder = source.parent
        try:
            text = _read(source, shown).decode("utf-8-sig")
        except UnicodeDecodeError:
            raise ToolError(f"{shown} is no text in UTF-8; write the Markdown in that.") from None
    if len(text) > LONGEST:
        size = f"{shown} has {len(text):,} characters, and {LONGEST:,} is the most of a report"
        raise ToolError(f"{size}; leave the data in files and name those.")
    return text.encode("utf-8", "replace").decode(), folder  # half a character is no text


def _read(path: Path, shown: str) -> bytes:
    try:
        return read_file(path, shown)
    except OSError as error:
        raise ToolError(f"{shown} cannot be read: {error.strerror}.") from None


class _Pictures:
    """The pictures of a report, by names that count from its Markdown's folder, or the root."""

    def __init__(self, workspace: Workspace, folder: Path) -> None:
        self.count = 0
        self.links: list[str] = []
        """Those on the web, which are not fetched."""
        self.missing: list[str] = []
        """Those that are not there, or are none in Markdown, such as a path with a space."""
        self._workspace = workspace
        self._folders = dict.fromkeys((folder.relative_to(workspace.root), Path()))

    def embed(self, part: Token) -> None:
        """Put a picture into its place; where there is none to put there, a link to it."""
        source = str(part.attrs["src"])
        if _WEB.match(source):
            self.links.append(source)
        elif source.startswith("data:"):  # the parser lets none through but pictures
            self.count += 1
            return
        elif path := self._found(unquote(source)):
            self.count += 1
            part.attrSet("src", self._url(path))
            return
        else:
            self.missing.append(source)
        words = escape(f"[picture: {part.content or source}]")
        part.type = "html_inline"
        part.content = f'<a href="{escape(source)}" rel="noopener noreferrer">{words}</a>'

    def _found(self, name: str) -> Path | None:
        for folder in self._folders:
            path = self._workspace.readable(str(folder / name))
            if path.suffix.lower() in _PAGES:
                path = path.with_suffix(".png")  # a chart's page has a PNG beside it
            with contextlib.suppress(OSError):  # a name that is too long for any file
                if path.is_file():
                    return path
        return None

    def _url(self, path: Path) -> str:
        """The data URL of a picture."""
        shown = self._workspace.show(path)
        data = _read(path, shown)
        kind = "image/svg+xml" if path.suffix.lower() == ".svg" else image_type(data)
        if kind is None:
            raise ToolError(f"{shown} is no picture; there are: PNG, JPEG, GIF, WebP, SVG.")
        return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(name[:100] for name in names[:_NAMED]) + more


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _to_page(markdown: str, title: str, pictures: _Pictures) -> tuple[str, int]:
    """The page of a report, and how many tables it has; its title may be its first heading."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    tokens = parser.parse(markdown)
    headings = _name_headings(tokens)
    for part in itertools.chain.from_iterable(token.children or () for token in tokens):
        if part.type == "link_open":
            part.attrSet("rel", "noopener noreferrer")
        elif part.type == "text":
            pictures.missing += _LEFT_OVER.findall(part.content)
        elif part.type == "image":
            pictures.embed(part)
    _make_figures(tokens)
    split = 3 if tokens and tokens[0].tag == "h1" else 0
    parts = (tokens[:split], tokens[split:])
    heading, body = (Markup(parser.renderer.render(part, parser.options, {})) for part in parts)
    templates = Environment(loader=PackageLoader("manus.tools", ""), autoescape=True)
    page = templates.get_template("report.html.j2").render(
        title=title or next((text for tag, _, text in headings if tag == "h1"), "") or "Report",
        heading=heading,
        sections=[(key, text) for tag, key, text in headings if tag == "h2"],
        body=body,
    )
    return page, sum(token.type == "table_open" for token in tokens)


def _name_headings(tokens: Sequence[Token]) -> list[tuple[str, str, str]]:
    """Give each heading an id, as links within the report name it; the tag, id and text of each."""
    found: list[tuple[str, str, str]] = []
    used: Counter[str] = Counter()
    for opening, inline in itertools.pairwise(tokens):
        if opening.type == "heading_open":
            text = "".join(part.content for part in inline.children or ())
            name = re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-") or "section"
            key = f"{name}-{used[name]}" if used[name] else name
            used[name] += 1
            opening.attrSet("id", key)
            found.append((opening.tag, key, text))
    return found


def _make_figures(tokens: Sequence[Token]) -> None:
    """A picture that stands alone becomes a figure; its title, or else its text, is the caption."""
    from markdown_it.token import Token

    for opening, inline, closing in zip(tokens, tokens[1:], tokens[2:], strict=False):
        parts = inline.children or []
        if opening.type != "paragraph_open" or [part.type for part in parts] != ["image"]:
            continue
        opening.tag = closing.tag = "figure"
        if caption := str(parts[0].attrs.pop("title", "") or parts[0].content):
            caption = f"<figcaption>{escape(caption)}</figcaption>"
            parts.append(Token("html_inline", "", 0, content=caption))
