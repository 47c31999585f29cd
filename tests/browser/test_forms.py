"""Filling in, selecting, clicking, scrolling, as a user does with mouse and keyboard."""

import pytest

from manus.tools.browser import pointer
from tests.browser.driver import Driver
from tests.browser.site import Site

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_form_is_filled_in_and_sent(driver: Driver, site: Site) -> None:
    site.pages["/"] = """<form method=post action=/sent><label>Name<input name=name></label>
      <label>Day<input type=date name=day></label>
      <label>Colour<input type=color name=colour></label>
      <label>How many<input type=number name=count min=1 max=9></label>
      <label>Notes<textarea name=notes></textarea></label>
      <label>Size<select name=size><option value=s>Small<option value=l>Large</select></label>
      <label><input type=checkbox name=gift>Gift</label><button>Send</button></form>"""
    site.pages["/sent"] = "<title>Sent</title><h1>Thank you</h1>"
    await driver.open(site.base)
    await driver.write('textbox "Name"', "Ann")
    await driver.write('date field "Day"', "2026-11-21")
    await driver.write('color field "Colour"', "#ff8800")
    await driver.write('spinbutton "How many"', "3")
    await driver.write('textbox "Notes"', "two\nlines")
    size = driver.number('combobox "Size"')
    output = await driver.say("select_dropdown_option", index=size, text="large")
    assert output == f'Chose "large" in [{size}] combobox "Size".'
    await driver.look()
    await driver.click('checkbox "Gift"')
    assert "(checked" in driver.line('checkbox "Gift"')
    output = await driver.click('button "Send"')
    assert f"The page is now {site.base}/sent" in output
    body = site.requests[[r.path for r in site.requests].index("/sent")].body.decode()
    assert body == (
        "name=Ann&day=2026-11-21&colour=%23ff8800&count=3&notes=two%0D%0Alines&size=l&gift=on"
    )


async def test_keys_are_handled_and_a_field_accepts_valid_input(
    driver: Driver, subtests: pytest.Subtests
) -> None:
    await driver.show("""<input aria-label=Find value=old><p id=p></p><script>
      const f = document.querySelector("input");
      f.onkeyup = (e) => { p.textContent = f.value.toUpperCase() + (e.key == "Enter" ? "!" : "") };
      </script><div contenteditable aria-label=Editor><b>old</b> text</div>
      <input aria-label=Code maxlength=3><label>Day<input type=date></label>""")
    output = await driver.write('textbox "Find"', "abc")
    assert output == 'Typed "abc" into [1] textbox "Find".\n- New on the page: "ABC"'
    assert "| ABC" in driver.text
    await driver.say("send_keys", keys="Enter")
    assert "| ABC!" in await driver.look()
    assert "Pressed Enter" in await driver.write('textbox "Find"', "xyz\n")
    assert "| XYZ!" in driver.text
    await driver.write('textbox "Editor"', "new text")
    assert '= "new text"' in driver.line('textbox "Editor"')
    error = await driver.fail("input_text", index=driver.number('textbox "Code"'), text="abcdef")
    assert error.endswith('field changed it to: "abc"')
    output = await driver.fail("input_text", index=driver.number("date field"), text="tomorrow")
    assert "does not accept 'tomorrow'; write a date as 2026-01-31" in output
    for keys, pressed in (("ctrl+a", "Control+a"), ("Tab Tab Space", "Tab Tab Space")):
        with subtests.test(keys=keys, pressed=pressed):
            assert await driver.say("send_keys", keys=keys) == f"Pressed {pressed}."
    assert "Typed" in await driver.say("send_keys", keys="hello you")


WRONG = [
    ("<input readonly aria-label=A>", "input_text", "x", "read-only"),
    ("<input disabled>", "input_text", "x", "disabled"),
    ("<input type=checkbox>", "input_text", "x", "click it"),
    ("<a href=/>x</a>", "input_text", "x", "not a field"),
    ("<select><option>a</select>", "click_element", None, "`select_dropdown_option`"),
    ("<input type=file>", "click_element", None, "use `upload_file`"),
    ("<button disabled>x</button>", "click_element", None, "disabled"),
    ("<button>x</button>", "get_dropdown_options", None, "is not a dropdown"),
    ("<select><option>a<option disabled>b</select>", "select_dropdown_option", "b", "disabled"),
    ("<select><option>fig<option>pear</select>", "select_dropdown_option", "plum", "fig | pear"),
    (f"<select>{'<option>fig' * 31}</select>", "select_dropdown_option", "plum", "(31 in all)"),
]


async def test_the_error_of_a_wrong_action_names_the_right_one(
    driver: Driver, subtests: pytest.Subtests
) -> None:
    await driver.show("".join(f"<p>{html}</p>" for html, *_ in WRONG))
    for number, (html, action, text, message) in enumerate(WRONG, 1):
        with subtests.test(number=number, html=html):
            arguments = {} if text is None else {"text": text}
            assert message in await driver.fail(action, index=number, **arguments), html
    await driver.show("""<select multiple aria-label=Many><optgroup label=Fruit><option value=1>Fig
      <option selected>Kiwi</optgroup></select>""")
    many = driver.number('listbox "Many"')
    message = await driver.say("get_dropdown_options", index=many)
    assert message.splitlines()[1:] == ["- Fig", "* Kiwi"]
    await driver.say("select_dropdown_option", index=many, text="Fig\nKiwi")
    await driver.look()
    assert '= "Fig, Kiwi"' in driver.line('listbox "Many"')


async def test_elements_under_the_mouse(driver: Driver, site: Site) -> None:
    site.pages["/"] = """<style>.sub{display:none} .m:hover .sub{display:block}</style>
      <div class=m><button>Menu</button><div class=sub><a href=/found>Inside</a></div></div>"""
    site.pages["/found"] = "<title>Found</title>"
    assert "Inside" not in await driver.open(site.base)
    await driver.say("hover", index=driver.number('button "Menu"'))
    await driver.look()
    assert f"now {site.base}/found" in await driver.click('link "Inside"')
    await driver.show("""<style>input{position:absolute;opacity:0;width:0;height:0}</style>
      <label><input type=checkbox><span>Fancy</span></label>""")  # clicked through its label
    await driver.click('checkbox "Fancy"')
    assert driver.line('checkbox "Fancy"').startswith('checkbox "Fancy" (checked')


async def test_points_on_a_canvas(driver: Driver, site: Site) -> None:
    site.pages["/"] = """<body style="margin:0"><canvas id=c width=200 height=100></canvas><script>
      c.onclick = e => document.title = e.offsetX + "," + e.offsetY</script>"""
    await driver.open(site.base)
    assert driver.line("canvas").endswith("at 0,0 size 200×100")
    await driver.say("click_at", x=150, y=40)
    assert "Title: 150,40" in await driver.look()
    assert "outside the view" in await driver.fail("click_at", x=5000, y=1)


async def test_a_covered_element_is_reported(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    await driver.show("""<button>Target</button><button onclick="document.body.insertAdjacentHTML(
      'beforeend', '<div id=veil style=position:fixed;inset:0;background:#fff>Cookies</div>')">
      Veil</button>""")
    target = driver.number('button "Target"')
    await driver.click('button "Veil"')
    monkeypatch.setattr(pointer, "ACTION_MS", 500)
    error = await driver.fail("click_element", index=target)
    assert f'[{target}] button "Target" is covered' in error
    assert "veil" in error
    assert "Last action failed" in await driver.look()
    await driver.say("wait", seconds=0.01)
    assert "Last action failed" not in await driver.look()


async def test_scrolling_an_area_or_to_a_text(driver: Driver) -> None:
    rows = "".join(f"<p>Item {n}</p>" for n in range(100))
    await driver.show(f"""<div tabindex=0 aria-label=List style="height:200px;overflow:auto">
      {rows}</div><div style="height:4000px"></div><p>The <b>very</b> end</p>""")
    area = driver.number('scroll area "List"')
    assert "0 px above" in driver.line('scroll area "List"')
    assert "by 500 px" in await driver.say("scroll_down", index=area, scroll_amount=500)
    assert "| Item 15" in await driver.look()
    await driver.say("scroll_to_text", text="the VERY  end")
    assert "nothing below" in await driver.look()
    assert "at its end" in await driver.say("scroll_down")
    await driver.say("scroll_up", scroll_amount=100_000)
    assert "nothing above" in await driver.look()
    assert "unicorn" in await driver.fail("scroll_to_text", text="unicorn")
    await driver.show("<p>Short</p>")
    assert "does not scroll" in await driver.say("scroll_down")
