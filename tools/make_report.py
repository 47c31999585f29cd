"""`make_report`: Markdown as one HTML file with the charts in it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field
from typing_extensions import override

from manus.prompts.data import REPORT
from manus.state.errors import ToolError
from manus.tools.base import AgentTool, Arguments
from manus.tools.beneath import is_folder
from manus.tools.editor.files import read_file, replace_file
from manus.tools.locks import WORKSPACE, Resource
from manus.tools.report.files import Files
from manus.tools.result import Observation
from manus.tools.workspace import Workspace

LONGEST = 200_000
"""Characters of the Markdown of a report: the parser's time grows faster than odd text does."""
_NAMED = 5
"""Things left out that an answer names; of more it gives the number."""


class MakeReportArgs(Arguments):
    """Arguments of `make_report`."""

    markdown: str = Field("", description="The report in Markdown; or give `source`")
    source: str = Field("", description="Path of a Markdown file in the workspace, instead")
    output: str = Field("report.html", description="Path of the HTML file that is made")
    title: str = Field(
        "", max_length=300, description="Title of the page (default: the first heading)"
    )


class MakeReport(AgentTool):
    """Makes reports."""

    name: str = "make_report"
    description: str = REPORT
    args_schema: type[BaseModel] = MakeReportArgs

    @override
    def resources(self, args: dict[str, Any]) -> frozenset[Resource]:
        return frozenset({Resource(WORKSPACE)})

    @override
    async def observe(self, **arguments: Any) -> Observation:
        wanted = MakeReportArgs.model_validate(arguments)
        if bool(wanted.markdown.strip()) == bool(wanted.source.strip()):
            raise ToolError("Give either `markdown`, the text, or `source`, the path of a file.")
        return Observation(await asyncio.to_thread(_make, wanted, self.session.workspace))


def _make(wanted: MakeReportArgs, workspace: Workspace) -> str:
    """The report, written; and what to say of it. Blocking."""
    from manus.tools.report.page import to_page

    output = _output(wanted, workspace)
    markdown, folder = _markdown(wanted, workspace, output)
    files = Files(workspace, folder, output)
    page = to_page(markdown, wanted.title.strip(), files)
    data = page.html.encode("utf-8", "replace")
    shown = workspace.show(output)
    try:
        replace_file(output, data)
    except OSError as error:
        raise ToolError(f"{shown} cannot be written: {error.strerror}.") from None
    lines = [
        f"{shown}: {_count(files.embedded, 'picture')} and {_count(page.tables, 'table')}, "
        f"{len(data):,} bytes; one file that works offline."
    ]
    if files.not_fetched:
        lines.append(
            "Not fetched, since a report asks nobody for anything, and left as links: "
            f"{_some(files.not_fetched)}."
        )
    if files.not_found:
        lines.append(
            f"There is no picture {_some(files.not_found)}; its text stands there instead. "
            f"{_draft(wanted, output, workspace)}"
        )
    if page.not_read:
        lines.append(
            "Not read as pictures (a path with spaces belongs between < and >; only files of the "
            f"workspace are shown): {_some(page.not_read)}."
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


def _output(wanted: MakeReportArgs, workspace: Workspace) -> Path:
    output = workspace.writable(wanted.output)
    if output.suffix.lower() not in (".html", ".htm"):
        raise ToolError(f"`output` is {wanted.output}, and a report is HTML; end it with `.html`.")
    if is_folder(output):
        raise ToolError(f"{workspace.show(output)} is a folder; give the path of a file.")
    return output


def _markdown(wanted: MakeReportArgs, workspace: Workspace, output: Path) -> tuple[str, Path]:
    """The Markdown, and the folder from which it names its pictures."""
    if not wanted.source.strip():
        return _short_enough(wanted.markdown, "`markdown`"), workspace.root
    source = workspace.readable(wanted.source)
    shown = workspace.show(source)
    if source == output:
        raise ToolError(f"`output` is {shown}, the Markdown itself; give another path.")
    try:
        text = read_file(source, shown).decode("utf-8-sig")
    except OSError as error:
        raise ToolError(f"{shown} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ToolError(f"{shown} is no text in UTF-8; write the Markdown in that.") from None
    return _short_enough(text, shown), source.parent


def _short_enough(text: str, shown: str) -> str:
    if len(text) > LONGEST:
        raise ToolError(
            f"{shown} has {len(text):,} characters, and {LONGEST:,} is the most of a report; "
            "leave the data in files and name those."
        )
    return text.encode("utf-8", "replace").decode()  # halves of surrogate pairs are no text


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(name[:100] for name in names[:_NAMED]) + more


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
