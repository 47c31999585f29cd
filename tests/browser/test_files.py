"""Downloads, uploads, PDFs, pictures: files between pages and the workspace."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from manus.tools.browser.downloads import safe_name
from tests.browser.driver import Driver
from tests.browser.site import Answer, Site

pytestmark = pytest.mark.asyncio(loop_scope="module")


def pdf(*texts: str) -> bytes:
    """A PDF with a text on each page."""
    from pypdf import PdfWriter
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = PdfWriter()
    for text in texts:
        page = writer.add_blank_page(300, 200)
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 14 Tf 20 100 Td ({text}) Tj ET".encode())
        page[NameObject("/Contents")] = writer._add_object(stream)
        font = DictionaryObject()
        for key, value in (("/Type", "/Font"), ("/Subtype", "/Type1"), ("/BaseFont", "/Helvetica")):
            font[NameObject(key)] = NameObject(value)
        fonts = DictionaryObject({NameObject("/F1"): font})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    data = io.BytesIO()
    writer.write(data)
    return data.getvalue()


def root(driver: Driver) -> Path:
    return driver.session.workspace.root


async def test_downloads_land_in_the_workspace(driver: Driver, site: Site) -> None:
    site.pages["/"] = "<a href=/f>Get</a>"
    headers = {"Content-Disposition": 'attachment; filename="report.csv"'}
    site.pages["/f"] = Answer("a,b\n1,2\n", type="text/csv", headers=headers)
    await driver.open(site.base)
    said = await driver.click('link "Get"')
    assert said == "Clicked element 1.\n- Downloaded downloads/report.csv (8 bytes, text/csv)."
    assert (root(driver) / "downloads/report.csv").read_text() == "a,b\n1,2\n"
    assert "downloads/report (2).csv" in await driver.click('link "Get"')
    said = await driver.say("go_to_url", url=f"{site.base}/f")
    assert said.startswith(f"{site.base}/f is a download, not a page.")
    assert "downloads/report (3).csv (8 bytes" in said


async def test_a_download_does_not_follow_a_link_out(driver: Driver, site: Site) -> None:
    outside = root(driver).parent / "outside"
    outside.mkdir(exist_ok=True)
    (root(driver) / "downloads").symlink_to(outside)
    try:
        headers = {"Content-Disposition": "attachment; filename=x.txt"}
        site.pages["/"] = "<a href=/f>Get</a>"
        site.pages["/f"] = Answer("x", headers=headers)
        await driver.open(site.base)
        assert "The download of x.txt could not be kept" in await driver.click('link "Get"')
        assert not list(outside.iterdir())
    finally:
        (root(driver) / "downloads").unlink()


@pytest.mark.parametrize(
    ("suggested", "safe"),
    [
        ("report.csv", "report.csv"),
        ("../../etc/passwd", "passwd"),
        ("..\\..\\boot.ini", "boot.ini"),
        (".bashrc", "bashrc"),
        ("a\x00b\n.txt", "a_b_.txt"),
        ("CON", "download_CON"),
        ("..", "download"),
        ('we<i>rd:"*?.txt', "we_i_rd____.txt"),
        ("l" * 300 + ".pdf", "l" * 100 + ".pdf"),
        ("отчёт.pdf", "отчёт.pdf"),
        ("a\u202egpj.exe", "a_gpj.exe"),
    ],
)
async def test_names_of_downloads(suggested: str, safe: str) -> None:
    assert safe_name(suggested) == safe


async def test_uploads_come_from_the_workspace_only(driver: Driver, site: Site) -> None:
    site.pages["/"] = """<input type=file aria-label=File onchange="t.textContent =
      this.files[0].name + ' ' + this.files[0].size"><p id=t></p>
      <button onclick="document.querySelector('input').click()">Choose</button>
      <a href=#>Other</a>"""
    await driver.open(site.base)
    (root(driver) / "data.txt").write_text("12345")
    field = driver.number('file field "File"')
    said = await driver.say("upload_file", index=field, path="data.txt")
    assert said == f"Gave data.txt to element {field}."
    assert "| data.txt 5" in await driver.look()
    (root(driver) / "more.txt").write_text("1234567")
    await driver.say("upload_file", index=driver.number('button "Choose"'), path="more.txt")
    assert "| more.txt 7" in await driver.look()
    for path in ("/etc/passwd", "../secret", "nothing.txt"):
        said = await driver.fail("upload_file", index=field, path=path)
        assert "outside the workspace" in said or "is not a file in the workspace" in said
    (root(driver) / "link").symlink_to("/etc/passwd")
    assert "outside" in await driver.fail("upload_file", index=field, path="link")
    said = await driver.fail("upload_file", index=driver.number('link "Other"'), path="data.txt")
    assert "takes no file" in said


async def test_a_pdf_is_read_as_text(driver: Driver, site: Site) -> None:
    site.pages["/p"] = Answer(pdf("Annual figures", "Second sheet"), type="application/pdf")
    text = await driver.open(f"{site.base}/p")
    assert "This is a PDF; `extract_content` reads all of it." in text
    assert "| Annual figures" in text
    said = await driver.say("extract_content")
    assert "## Page 2\n\nSecond sheet" in said


async def test_a_broken_pdf_says_so(driver: Driver, site: Site) -> None:
    site.pages["/p"] = Answer(b"%PDF-1.4 nothing", type="application/pdf")
    text = await driver.open(f"{site.base}/p")
    assert "cannot be read as text" in text


async def test_a_picture_with_the_numbers(driver: Driver, site: Site) -> None:
    site.pages["/"] = "<h1>Hi</h1><button>Go</button><iframe srcdoc='<button>In</button>'></iframe>"
    await driver.open(site.base)
    assert await driver.say("screenshot", path="a.png") == "The view is in a.png."
    said = await driver.say("screenshot", path="b.png", numbers=True)
    assert said == "The view is in b.png with the elements' numbers."
    plain, marked = ((root(driver) / name).read_bytes() for name in ("a.png", "b.png"))
    assert plain.startswith(b"\x89PNG")
    assert plain != marked
    assert "manus-marks" not in await driver.browser.active.page.content()  # type: ignore[union-attr]
    assert "outside the workspace" in await driver.fail("screenshot", path="../x.png")
    assert "belongs to the agent's own" in await driver.fail("screenshot", path=".manus/x.png")
