"""Long fields: shown with their line breaks, read whole, filled from files, edited."""

from pathlib import Path

import pytest

from tests.browser.driver import Driver

pytestmark = pytest.mark.asyncio(loop_scope="session")

LINES = "\n".join(f"Line {n}: 数据 value {n}" for n in range(120))
FIELDS = {
    "a textarea": "<textarea aria-label=Body></textarea>",
    "an editor": "<div contenteditable aria-label=Body></div>",
}


@pytest.mark.parametrize("name", FIELDS)
async def test_a_long_text_is_written_from_a_file_and_read_back(driver: Driver, name: str) -> None:
    root = driver.session.workspace.root
    (root / "body.txt").write_text(LINES, "utf-8")
    await driver.show(FIELDS[name])
    number = driver.number('textbox "Body"')
    output = await driver.say("input_text", index=number, path="body.txt")
    assert output == f'Typed body.txt ({len(LINES):,} characters) into [{number}] textbox "Body".'
    await driver.look()
    line = driver.line('textbox "Body"')
    assert '= "Line 0: 数据 value 0⏎Line 1: ' in line
    assert f"… ({len(LINES):,} characters)" in line
    text = await driver.say("extract_content", index=number)
    assert text.endswith(LINES)
    await driver.say("extract_content", index=number, path="copy.txt")
    assert (root / "copy.txt").read_text("utf-8") == LINES


@pytest.mark.parametrize("name", FIELDS)
async def test_a_part_of_a_field_is_replaced(driver: Driver, name: str) -> None:
    (driver.session.workspace.root / "body.txt").write_text(LINES, "utf-8")
    await driver.show(FIELDS[name])
    number = driver.number('textbox "Body"')
    await driver.say("input_text", index=number, path="body.txt")
    old = "value 41\nLine 42: 数据"
    output = await driver.say("input_text", index=number, old_text=old, text="VALUE\nZeile 42: 新")
    assert "Replaced a part of" in output
    text = await driver.say("extract_content", index=number)
    assert text.endswith(LINES.replace(old, "VALUE\nZeile 42: 新"))
    output = await driver.fail("input_text", index=number, old_text="Line 9", text="x")
    assert "contains 11 times the `old_text`" in output
    output = await driver.fail("input_text", index=number, old_text="nowhere", text="x")
    assert "does not contain the `old_text`" in output


async def test_keys_after_a_text_go_to_its_end(driver: Driver) -> None:
    await driver.show("""<div contenteditable aria-label=Body></div><script>
      const body = document.querySelector("div");
      body.oninput = () => { if (body.innerText.length > 4) getSelection().collapse(body, 0) };
      </script>""")
    number = driver.number('textbox "Body"')
    await driver.say("input_text", index=number, text="Dear\nAnn")
    await driver.say("send_keys", keys="!")
    assert (await driver.say("extract_content", index=number)).endswith("Dear\nAnn!")


async def test_a_part_of_one_line_is_replaced_and_removed(driver: Driver) -> None:
    await driver.show("<input aria-label=Name value='Ann Smith'><input type=email value=a@b.test>")
    await driver.say("input_text", index=1, old_text="Smith", text="Jones")
    await driver.say("input_text", index=2, old_text="@b.test", text="@c.test")
    await driver.look()
    assert '= "Ann Jones"' in driver.line('textbox "Name"')
    assert '= "a@c.test"' in driver.line("email field")
    await driver.say("input_text", index=1, old_text=" Jones", text="")
    await driver.look()
    assert '= "Ann"' in driver.line('textbox "Name"')


EXACT = [
    # value, old, new, result
    ("one\ntwo\nthree", "two\n", "2\n", "one\n2\nthree"),
    ("a:\n  port: 80\n  host: x", "  port: 80", "  port: 8080", "a:\n  port: 8080\n  host: x"),
    ("a\n\nb", "a\n\n", "a\n", "a\nb"),
    ("x = 1  \ny = 2", "x = 1  ", "x = 1", "x = 1\ny = 2"),
    ("one\ntwo", "\ntwo", "", "one"),
    ("f(a.b*c)", "a.b*c", "[\\d]", "f([\\d])"),
    ("👍 yes\n\tno", "\tno", "\t\tno", "👍 yes\n\t\tno"),
    ("two  words here", "two words", "2", "2 here"),
]


NEEDS_WORDS = ("a\n\nb", "x = 1  \ny = 2", "one\ntwo")
"""Texts of which a part that ends with white space is replaced by one that does not."""


@pytest.mark.parametrize("name", FIELDS)
async def test_a_part_is_replaced_with_its_white_space(driver: Driver, name: str) -> None:
    await driver.show(FIELDS[name].replace("<div", "<div style=white-space:pre"))
    number = driver.number('textbox "Body"')
    for value, old, new, expected in EXACT:
        await driver.say("input_text", index=number, text=value)
        if name == "an editor" and value in NEEDS_WORDS:
            error = await driver.fail("input_text", index=number, old_text=old, text=new)
            assert "line breaks are part of the layout" in error
            continue
        await driver.say("input_text", index=number, old_text=old, text=new)
        text = await driver.say("extract_content", index=number)
        assert text.partition(":\n")[2] == expected, value


async def test_the_indents_of_a_field_are_shown(driver: Driver) -> None:
    await driver.show("<textarea aria-label=Body>a:\n    b:   1\n\tc</textarea>")
    assert '= "a:⏎    b: 1⏎\tc"' in driver.line('textbox "Body"')


REFUSING = """<input aria-label=Gone oninput="this.value=''"><input aria-label=Short maxlength=4>
  <input aria-label=Day oninput="this.value=this.value.replace('-14', '-0114')">
  <textarea aria-label=Fixed oninput="this.value='old'">old</textarea>
  <input aria-label=Phone oninput="this.value=this.value.replace(/(\\d{3})(?=\\d)/g, '$1 ')">
  <input aria-label=Upper oninput="this.value=this.value.toUpperCase()">"""


async def test_a_field_that_does_not_take_a_text_is_an_error(driver: Driver) -> None:
    await driver.show(REFUSING)
    for name, text, problem in (
        ("Gone", "Ann", "it is empty"),
        ("Short", "Annabel", "another value"),
        ("Day", "2026-11-14", "2026-11-0114"),
    ):
        number = driver.number(f'textbox "{name}"')
        error = await driver.fail("input_text", index=number, text=text)
        assert "did not take" in error
        assert problem in error
    number = driver.number('textbox "Fixed"')
    error = await driver.fail("input_text", index=number, old_text="old", text="new")
    assert "the same as before" in error
    await driver.write('textbox "Phone"', "5551234567")
    await driver.write('textbox "Upper"', "ann")


HEARD = """<textarea aria-label=Notes></textarea><p id=p></p><script>
  const seen = []; const field = document.querySelector("textarea");
  for (const kind of ["keydown", "beforeinput", "input", "keyup"])
    field.addEventListener(kind, (e) => { seen.push(kind);
      p.textContent = [...new Set(seen)].join(" ") });
  field.addEventListener("keydown", (e) => { if (e.key === "Enter") document.title = "sent" });
  </script>"""


@pytest.mark.parametrize("text", ["Hi,\nAnn", "Hi,\n" + "word " * 500])
async def test_a_page_gets_the_same_events_for_short_and_long_texts(
    driver: Driver, text: str
) -> None:
    await driver.show(HEARD)
    await driver.write('textbox "Notes"', text)
    quoted = next(line for line in driver.text.splitlines() if line.startswith("| "))
    assert set(quoted[2:].split()) == {"keydown", "beforeinput", "input", "keyup"}
    assert "Title: sent" not in driver.text, "a line break is not a pressed Enter"


async def test_keys_are_pressed_for_long_lines_as_for_short_ones(driver: Driver) -> None:
    await driver.show("""<input aria-label=Token><p id=p></p><script>let keys = 0;
      const count = (event) => { if (event.key === "x") p.textContent = ++keys };
      document.querySelector("input").onkeydown = count</script>""")
    await driver.write('textbox "Token"', "x" * 450)
    assert "| 450" in driver.text


async def test_files_that_cannot_be_read_or_written_are_reported(driver: Driver) -> None:
    root: Path = driver.session.workspace.root
    (root / "a.bin").write_bytes(b"\0\1\2")
    await driver.show("<textarea aria-label=T>abc</textarea><input type=password value=hunter2>")
    assert "not a file" in await driver.fail("input_text", index=1, path="none.txt")
    assert "is a binary file" in await driver.fail("input_text", index=1, path="a.bin")
    assert "outside" in await driver.fail("input_text", index=1, path="/etc/passwd")
    assert "not both" in await driver.fail("input_text", index=1, path="a.bin", text="x")
    assert "needs `text`" in await driver.fail("input_text", index=1)
    assert "outside" in await driver.fail("extract_content", index=1, path="/tmp/x.txt")
    error = await driver.fail("extract_content", index=2)
    assert "is a password" in error
    assert "hunter2" not in error


CODE = 'def double(x):\n    if x > (1):\n        return [x, x]\n    return "one"\n'
EDITOR = """<div id=e class=CodeMirror style="height:60px;overflow:hidden"><textarea
  style="position:absolute;opacity:0;height:1px"></textarea><pre id=seen></pre></div><script>
  let code = "old\\n".repeat(300);
  const draw = () => { seen.textContent = code.split("\\n").slice(0, 3).join("\\n") };
  e.CodeMirror = { getValue: () => code };
  e.addEventListener("paste", (event) => { event.preventDefault();
    code = event.clipboardData.getData("text/plain"); draw() });
  draw()</script>"""
"""A typical editor: it renders a few lines, and keeps the others in memory."""


async def test_a_code_editor_is_a_field_with_all_its_lines(driver: Driver) -> None:
    await driver.show(EDITOR)
    assert "(1,200 characters)" in driver.line("textbox (looks like: e)")
    await driver.say("input_text", index=1, text=CODE)
    assert (await driver.say("extract_content", index=1)).endswith(CODE.rstrip("\n"))
    await driver.say("input_text", index=1, old_text='"one"', text="[1]")
    assert "    return [1]" in await driver.say("extract_content", index=1)


async def test_a_field_is_not_named_after_its_content(driver: Driver) -> None:
    await driver.show("<label>Notes <textarea>a very long text</textarea></label>")
    assert driver.line('textbox "Notes"') == 'textbox "Notes" = "a very long text" (multiline)'


async def test_paragraphs_are_read_as_lines(driver: Driver) -> None:
    await driver.show("<div contenteditable><p>One</p><p><br></p><p>Two <b>bold</b></p></div>")
    assert (await driver.say("extract_content", index=1)).endswith(":\nOne\n\nTwo bold")
