"""`make_report`: render Markdown as one HTML file with embedded charts.

HTML in the Markdown is escaped; the page makes no requests.
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

from manus.calls.base import AgentTool, Arguments
from manus.calls.result import Observation
from manus.prompts.data import REPORT
from manus.prompts.formatting import join_names
from manus.prompts.markdown import build_parser
from manus.state.errors import ToolError
from manus.workspace.text_files import as_text, image_type, read_file, replace_file
from manus.workspace.workspace import WORKSPACE, Workspace

if TYPE_CHECKING:
    from markdown_it.token import Token

MAX_CHARACTERS = 200_000
"""Maximum size of the Markdown: the parser takes superlinear time for some inputs."""
_MAX_NAMED = 5
"""Maximum number of omitted images that an observation names."""
_UNPARSED_PICTURE = re.compile(r"!\[[^\]\n]*\]\([^)\n]+\)")
_HTML_SUFFIXES = (".html", ".htm")
_WEB = re.compile(r"https?:", re.IGNORECASE)


class MakeReportArgs(Arguments):
    """Arguments of `make_report`."""

    markdown: str = Field("", description="The report in Markdown; or give `source`")
    source: str = Field("", description="Path of a Markdown file in the workspace, instead")
    output: str = Field("report.html", description="Path of the HTML file")
    title: str = Field("", max_length=300, description="Page title (default: the first heading)")


class MakeReport(AgentTool):
    """The report tool."""

    name: str = "make_report"
    description: str = REPORT
    args_schema: type[BaseModel] = MakeReportArgs
    uses: ClassVar[str] = WORKSPACE

    @override
    async def observe(self, **arguments: Any) -> Observation:
        request = MakeReportArgs.model_validate(arguments)
        if bool(request.markdown.strip()) == bool(request.source.strip()):
            raise ToolError("Give either `markdown` (the text) or `source` (the path of a file).")
        return Observation(await asyncio.to_thread(_make_report, request, self.session.workspace))


def _make_report(request: MakeReportArgs, workspace: Workspace) -> str:
    """Write the report, and return the observation. Blocking."""
    output = workspace.writable(request.output)
    if output.suffix.lower() not in _HTML_SUFFIXES:
        raise ToolError(f"`output` is {request.output}, but a report is HTML; end it with `.html`.")
    markdown, folder = _read_markdown(request, workspace)
    pictures = _Pictures(workspace, folder)
    page, tables = _render_page(markdown, request.title.strip(), pictures)
    data = page.encode("utf-8", "replace")
    label = workspace.show(output)
    try:
        replace_file(output, data)
    except OSError as error:
        raise ToolError(f"Cannot write {label}: {error.strerror}.") from None
    picture_count = _format_count(pictures.count, "image")
    table_count = _format_count(tables, "table")
    lines = [
        f"{label}: {picture_count} and {table_count}, {len(data):,} bytes; one file that works "
        "offline."
    ]
    if pictures.links:
        lines.append(f"Not fetched, and left as links: {join_names(pictures.links, _MAX_NAMED)}.")
    if pictures.missing:
        lines.append(
            f"Missing images, replaced by their text: {join_names(pictures.missing, _MAX_NAMED)}. "
            f"{_advise_correction(request, output, workspace)} "
            "(Write a path with spaces between < and >.)"
        )
    return "\n".join(lines)


def _advise_correction(request: MakeReportArgs, output: Path, workspace: Workspace) -> str:
    """Return advice on how to correct the report; save Markdown that was passed in the call."""
    if request.source.strip():
        return "Correct the path and create the report again."
    draft = workspace.writable(f"{workspace.show(output)}.md")
    replace_file(draft, request.markdown.encode("utf-8", "replace"))
    label = workspace.show(draft)
    return f"The Markdown was saved: correct the path in {label}, and pass it as `source`."


def _read_markdown(request: MakeReportArgs, workspace: Workspace) -> tuple[str, Path]:
    """Return the Markdown, and the folder that its image paths are relative to."""
    text = request.markdown
    label = "`markdown`"
    folder = workspace.root
    if request.source.strip():
        source = workspace.readable(request.source)
        label = workspace.show(source)
        folder = source.parent
        text = as_text(label, _read(source, label), source).text
    if len(text) > MAX_CHARACTERS:
        size = f"{label} has {len(text):,} characters, more than the limit of {MAX_CHARACTERS:,}"
        raise ToolError(f"{size}; leave the data in files and refer to those.")
    return text.encode("utf-8", "replace").decode(), folder  # replaces lone surrogates


def _read(path: Path, label: str) -> bytes:
    try:
        return read_file(path, label)
    except OSError as error:
        raise ToolError(f"Cannot read {label}: {error.strerror}.") from None


class _Pictures:
    """The images of a report, with paths relative to the folder of its Markdown or the root."""

    def __init__(self, workspace: Workspace, folder: Path) -> None:
        self.count = 0
        self.links: list[str] = []
        """Images on the web, which are not fetched."""
        self.missing: list[str] = []
        """Images that do not exist or that Markdown does not parse, such as a path with a space."""
        self._workspace = workspace
        self._folders = dict.fromkeys((folder.relative_to(workspace.root), Path()))

    def embed(self, part: Token) -> None:
        """Embed an image; replace one that cannot be embedded with a link."""
        source = str(part.attrs["src"])
        if _WEB.match(source):
            self.links.append(source[:100])
        elif source.startswith("data:"):  # the parser allows only images here
            self.count += 1
            return
        elif path := self._find(unquote(source)):
            self.count += 1
            part.attrSet("src", self._to_data_url(path))
            return
        else:
            self.missing.append(source[:100])
        words = escape(f"[image: {part.content or source}]")
        part.type = "html_inline"
        part.content = f'<a href="{escape(source)}" rel="noopener noreferrer">{words}</a>'

    def _find(self, name: str) -> Path | None:
        for folder in self._folders:
            path = self._workspace.readable(str(folder / name))
            if path.suffix.lower() in _HTML_SUFFIXES:
                path = path.with_suffix(".png")  # a chart's page has a PNG next to it
            with contextlib.suppress(OSError):  # the name may be too long for a file
                if path.is_file():
                    return path
        return None

    def _to_data_url(self, path: Path) -> str:
        """Return the data URL of an image."""
        label = self._workspace.show(path)
        data = _read(path, label)
        kind = "image/svg+xml" if path.suffix.lower() == ".svg" else image_type(data)
        if kind is None:
            raise ToolError(f"{label} is not an image; supported are PNG, JPEG, GIF, WebP, SVG.")
        return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"


def _format_count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _render_page(markdown: str, title: str, pictures: _Pictures) -> tuple[str, int]:
    """Render the page of a report; return it and its number of tables."""
    parser = build_parser()
    tokens = parser.parse(markdown)
    headings = _add_heading_ids(tokens)
    for part in itertools.chain.from_iterable(token.children or () for token in tokens):
        if part.type == "text":
            pictures.missing += _UNPARSED_PICTURE.findall(part.content)
        elif part.type == "image":
            pictures.embed(part)
    _make_figures(tokens)
    heading_end = 3 if tokens and tokens[0].tag == "h1" else 0
    parts = (tokens[:heading_end], tokens[heading_end:])
    environment = {"locate": str}  # links stay as they are: the parser has refused unsafe ones
    heading, body = (
        Markup(parser.renderer.render(part, parser.options, environment)) for part in parts
    )
    templates = Environment(loader=PackageLoader("manus.tools", ""), autoescape=True)
    page = templates.get_template("report.html.j2").render(
        title=title or next((text for tag, _, text in headings if tag == "h1"), "") or "Report",
        heading=heading,
        sections=[(key, text) for tag, key, text in headings if tag == "h2"],
        body=body,
    )
    return page, sum(token.type == "table_open" for token in tokens)


def _add_heading_ids(tokens: Sequence[Token]) -> list[tuple[str, str, str]]:
    """Add an id to each heading for links in the report; return the tag, id and text of each."""
    headings: list[tuple[str, str, str]] = []
    used: Counter[str] = Counter()
    for opening, inline in itertools.pairwise(tokens):
        if opening.type == "heading_open":
            text = "".join(part.content for part in inline.children or ())
            name = re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-") or "section"
            key = f"{name}-{used[name]}" if used[name] else name
            used[name] += 1
            opening.attrSet("id", key)
            headings.append((opening.tag, key, text))
    return headings


def _make_figures(tokens: Sequence[Token]) -> None:
    """Turn an image in its own paragraph into a figure, with its title or text as the caption."""
    from markdown_it.token import Token

    for opening, inline, closing in zip(tokens, tokens[1:], tokens[2:], strict=False):
        parts = inline.children or []
        if opening.type != "paragraph_open" or [part.type for part in parts] != ["image"]:
            continue
        opening.tag = closing.tag = "figure"
        if caption := str(parts[0].attrs.pop("title", "") or parts[0].content):
            caption = f"<figcaption>{escape(caption)}</figcaption>"
            parts.append(Token("html_inline", "", 0, content=caption))
