"""Downloads, uploads, PDFs, images: files between pages and the workspace."""

import io
from pathlib import Path
from urllib.parse import quote

import pytest

from manus.calls.session import Resource
from manus.config.browser_settings import BrowserSettings
from manus.tools.browser import browser, fields
from tests.browser.driver import Driver
from tests.browser.site import Answer, Site

pytestmark = pytest.mark.asyncio(loop_scope="session")


def pdf(*texts: str, ballast: int = 0) -> bytes:
    """Return a PDF with one text per page, padded by this many bytes."""
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
    if ballast:
        writer.add_attachment("ballast", b"x" * ballast)
    data = io.BytesIO()
    writer.write(data)
    return data.getvalue()


def root(driver: Driver) -> Path:
    return driver.session.workspace.root


async def test_downloads_are_stored_in_the_workspace(driver: Driver, site: Site) -> None:
    site.pages["/"] = "<a href=/f>Get</a>"
    headers = {"Content-Disposition": 'attachment; filename="report.csv"'}
    site.pages["/f"] = Answer("a,b\n1,2\n", type="text/csv", headers=headers)
    await driver.open(site.base)
    assert "Downloaded downloads/report.csv (8 bytes)" in await driver.click('link "Get"')
    assert (root(driver) / "downloads/report.csv").read_text() == "a,b\n1,2\n"
    assert "downloads/report (2).csv" in await driver.click('link "Get"')
    output = await driver.say("go_to_url", url=f"{site.base}/f")
    assert "is a download" in output
    assert "downloads/report (3).csv" in output


async def test_a_download_follows_no_link_outside_the_workspace(
    driver: Driver, site: Site, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (root(driver) / "downloads").symlink_to(outside)
    headers = {"Content-Disposition": "attachment; filename=x.txt"}
    site.pages["/"] = "<a href=/f>Get</a>"
    site.pages["/f"] = Answer("x", headers=headers)
    await driver.open(site.base)
    assert "could not be saved" in await driver.click('link "Get"')
    assert not list(outside.iterdir())


async def test_a_download_that_becomes_too_large_is_aborted(
    driver: Driver, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser, "_MAX_MEGABYTES", 1)
    driver.browser.settings = BrowserSettings(action_timeout=60)
    headers = {"Content-Disposition": "attachment; filename=x.bin"}
    # it never ends: only abandoning it ends the action
    site.pages["/f"] = Answer(b"x" * 3_000_000, headers=headers, trickle=True)
    await driver.show("<a href=/f>Get</a>")
    for _ in range(2):  # nor does the second one, although its address is known
        assert "download it with a program" in await driver.click('link "Get"')
    assert not (root(driver) / "downloads").exists()


async def test_names_of_downloads(driver: Driver, site: Site, subtests: pytest.Subtests) -> None:
    await driver.open("about:blank")
    for suggested, safe in (
        ("../../etc/passwd", "_.._etc_passwd"),
        (".bashrc", "bashrc"),
        ("отчёт\u202e.pdf", "отчёт_.pdf"),
    ):
        with subtests.test(suggested=suggested, safe=safe):
            name = f"attachment; filename*=UTF-8''{quote(suggested)}"
            site.pages["/f"] = Answer("x", headers={"Content-Disposition": name})
            output = await driver.say("go_to_url", url=f"{site.base}/f")
            assert f"Downloaded downloads/{safe} (1 bytes)" in output


async def test_uploads_from_the_workspace(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    await driver.show("""<input type=file aria-label=File onchange="t.textContent =
      this.files[0].name + ' ' + this.files[0].size"><p id=t></p>
      <button onclick="document.querySelector('input').click()">Choose</button>
      <a href=#>Other</a>""")
    (root(driver) / "data.txt").write_text("12345")
    field = driver.number('file field "File"')
    output = await driver.say("upload_file", index=field, path="data.txt")
    assert output.startswith(f'Attached data.txt to [{field}] file field "File".')
    assert "| data.txt 5" in await driver.look()
    (root(driver) / "more.txt").write_text("1234567")
    await driver.say("upload_file", index=driver.number('button "Choose"'), path="more.txt")
    assert "| more.txt 7" in await driver.look()
    for path in ("/etc/passwd", "../secret", "nothing.txt"):
        with subtests.test(path=path):
            output = await driver.fail("upload_file", index=field, path=path)
            assert "outside the workspace" in output or "is not a file" in output
    (root(driver) / "link").symlink_to("/etc/passwd")
    assert "outside" in await driver.fail("upload_file", index=field, path="link")
    assert "outside" in await driver.fail("screenshot", path="../x.png")
    await driver.fail("screenshot", path=".manus/x.png")
    monkeypatch.setattr(fields, "ACTION_MS", 500)
    output = await driver.fail("upload_file", index=driver.number('link "Other"'), path="data.txt")
    assert "does not accept a file" in output


async def test_a_pdf_is_read_as_text(driver: Driver, site: Site) -> None:
    site.pages["/p"] = Answer(pdf("Annual figures", "Second sheet"), type="application/pdf")
    text = await driver.open(f"{site.base}/p")
    assert "| Annual figures" in text
    output = await driver.say("extract_content")
    assert "## Page 2\n\nSecond sheet" in output


async def test_a_page_in_the_workspace_cannot_access_files_outside(
    driver: Driver, site: Site, subtests: pytest.Subtests
) -> None:
    outside = root(driver).parent / "secret.html"
    outside.write_text("<p>the secret</p>")
    (root(driver) / "link.html").symlink_to(outside)
    (root(driver) / "my page.html").write_text("""<title>Mine</title><h1>Built</h1>
      <a href=../secret.html>Out</a><iframe src=link.html></iframe>""")
    text = await driver.open(f"file://{root(driver)}/my%20page.html")
    assert "Title: Mine" in text
    assert "# Built" in text
    edit = Resource("workspace/my page.html")
    waits = driver.tool.resources({"action": "refresh"})
    assert any(edit.collides(resource) for resource in waits), (
        "an edit of the same message comes first"
    )
    assert "the secret" not in text
    for path in ("my page.html", "./my page.html", f"{root(driver)}/my page.html"):
        with subtests.test(path=path):
            assert "Title: Mine" in await driver.open(path), "a path as other tools accept it"
            assert not driver.tool.approval({"action": "go_to_url", "url": path}).hosts
    for address in ("example.com/a.html", "localhost/a.html"):
        with subtests.test(address=address):
            assert driver.tool.approval({"action": "go_to_url", "url": address}).hosts
    await driver.do("click_element", index=driver.number('link "Out"'))
    assert "the secret" not in await driver.look()
    for url in (
        "/etc/passwd",
        "../secret.html",
        "file:///etc/passwd",
        f"file://{outside}",
        f"file://{root(driver)}/link.html",
    ):
        await driver.fail("go_to_url", url=url)
    assert "does not exist" in await driver.fail("go_to_url", url="no.html")
    site.pages["/"] = f"<title>Web</title><iframe src='file://{outside}'></iframe>"
    assert "the secret" not in await driver.open(site.base)
    assert driver.tool.resources({"action": "refresh"}) == {Resource("browser")}
