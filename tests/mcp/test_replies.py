"""What comes back from a server: text, pictures, resources, errors, and requests of its own."""

from __future__ import annotations

import pytest

from manus.tools.catalog import Catalog
from manus.tools.session import Session
from tests.helpers.acting import execute_alone

pytestmark = pytest.mark.asyncio(loop_scope="module")

Connected = tuple[Catalog, Session]


async def test_a_tool_of_a_program(shared: Connected) -> None:
    catalog, _ = shared
    assert catalog.names()[0] == "terminate"
    assert "mcp_odd_add" in catalog.names()
    assert (await catalog.execute("mcp_odd_add", {"a": 2, "b": 3})).text == "5"


async def test_pictures_sounds_and_errors_are_kept(shared: Connected) -> None:
    catalog, session = shared
    seen = await catalog.execute("mcp_odd_picture")
    assert [image.mime for image in seen.images] == ["image/png"]
    heard = await catalog.execute("mcp_odd_sound")
    first, second = heard.text.splitlines()
    assert first == "hear:"
    kept = second.rpartition(" in ")[2].rstrip("]")
    assert (session.workspace.root / kept).read_bytes() == b"RIFF"
    failed = await catalog.execute("mcp_odd_fail")
    assert failed.is_error
    assert "the tide is out" in failed.text
    unfit = await catalog.execute("mcp_odd_add", {"a": "x"})
    assert unfit.is_error
    assert "valid integer" in unfit.text


async def test_ten_megabytes_are_cut_like_any_observation(shared: Connected) -> None:
    catalog, session = shared
    tool = catalog.find("mcp_odd_large")
    assert tool is not None
    text = str((await execute_alone(session, tool, {})).message.text)
    assert len(text) <= 10_000
    assert "of 10,000,000 characters left out" in text


async def test_resources_are_kept_as_text_picture_or_file(shared: Connected) -> None:
    catalog, session = shared
    found = await catalog.execute("mcp_odd_resources")
    link, embedded, poem, kept = found.text.splitlines()
    assert link == "[resource tides (text/csv): odd://tides]"
    assert (embedded, poem) == ("[resource odd://poem]", "Das Meer 海")
    assert [image.mime for image in found.images] == ["image/png"]
    assert kept.startswith("[application/x-tar, 3 bytes, in ")
    file = kept.rpartition(" in ")[2].rstrip("]")
    assert (session.workspace.root / file).read_bytes() == b"tar"


async def test_the_workspace_is_the_folder_to_work_in(shared: Connected) -> None:
    catalog, session = shared
    said = await catalog.execute("mcp_odd_roots")
    assert said.text == session.workspace.root.as_uri()


async def test_a_question_of_the_server_is_declined(shared: Connected) -> None:
    catalog, _ = shared
    said = await catalog.execute("mcp_odd_paint")
    assert said.is_error
    assert "Elicitation not supported" in said.text


async def test_the_model_is_not_at_the_servers_disposal(shared: Connected) -> None:
    catalog, _ = shared
    said = await catalog.execute("mcp_odd_think")
    assert said.is_error
    assert "Sampling not supported" in said.text
