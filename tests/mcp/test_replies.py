"""What comes back from a server: text, pictures, resources, errors, and requests of its own."""

import pytest

from manus.tools.catalog import Catalog
from manus.tools.session import Session

pytestmark = pytest.mark.asyncio(loop_scope="module")

Connected = tuple[Catalog, Session]


def kept(session: Session, said: str) -> bytes:
    """What the file holds that an observation names."""
    return (session.workspace.root / said.rpartition(" in ")[2].rstrip("]")).read_bytes()


async def test_pictures_and_sounds_are_kept(shared: Connected) -> None:
    catalog, session = shared
    seen = await catalog.execute("mcp_odd_picture")
    assert [image.mime for image in seen.images] == ["image/png"]
    first, second = (await catalog.execute("mcp_odd_sound")).text.splitlines()
    assert first == "hear:"
    assert kept(session, second) == b"RIFF"


async def test_resources_are_kept_as_text_picture_or_file(shared: Connected) -> None:
    catalog, session = shared
    found = await catalog.execute("mcp_odd_resources")
    link, embedded, poem, archive = found.text.splitlines()
    assert link == "[resource tides (text/csv): odd://tides]"
    assert (embedded, poem) == ("[resource odd://poem]", "Das Meer 海")
    assert [image.mime for image in found.images] == ["image/png"]
    assert kept(session, archive) == b"tar"


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("fail", {}, "the tide is out"),
        ("add", {"a": "x"}, "valid integer"),
        ("paint", {}, "Elicitation not supported"),  # the user is not at the servers' disposal
        ("think", {}, "Sampling not supported"),  # nor is the model
    ],
)
async def test_what_cannot_be_done_is_said(
    shared: Connected, tool: str, arguments: dict[str, str], said: str
) -> None:
    found = await shared[0].execute(f"mcp_odd_{tool}", arguments)
    assert found.is_error
    assert said in found.text
