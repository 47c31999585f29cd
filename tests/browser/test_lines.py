"""Which elements of a page share a line and which do not; shapes, colors and positions."""

import pytest

from tests.browser.driver import Driver
from tests.browser.site import Site

pytestmark = pytest.mark.asyncio(loop_scope="session")

ONE = [
    ("<td onclick=x()><a href=#>5</a></td>", 'link "5"'),
    ("<td onclick=x() aria-selected=true><a href=#>6</a></td>", 'link "6" (selected)'),
    ("<li role=tab aria-selected=true tabindex=0><a href=#t>Mail</a></li>", "tab"),
    ("<div onclick=x() style=cursor:pointer><button>Close</button></div>", 'button "Close"'),
    ("<div onclick=x()><label><input type=checkbox> Gift</label></div>", "checkbox"),
    ("<div onclick=x()><span onclick=x()>Twice</span></div>", 'clickable "Twice"'),
    ("<ul onclick=x()><li onclick=x()><b onclick=x()>Deep</b></li></ul>", 'clickable "Deep"'),
]


def elements(text: str) -> list[str]:
    return [line.partition("] ")[2] for line in text.splitlines() if line.startswith("[")][1:-1]


async def test_nested_elements_that_act_as_one_are_one_line(
    driver: Driver, subtests: pytest.Subtests
) -> None:
    for html, line in ONE:
        with subtests.test(html=html):
            table = f"<table><tr>{html}</table>" if html.startswith("<td") else html
            [element] = elements(await driver.show(table))
            assert element.startswith(line)


CUT_MENU = """<div style="height:60px;overflow:hidden"><ul style="cursor:pointer">
  <li onclick="document.title='share'">Share<li onclick="document.title='copy'">Copy
  <li onclick="document.title='embed'">Embed<li onclick="document.title='mute'">Mute</ul></div>"""


async def test_a_clipped_menu_is_listed_by_its_entries(driver: Driver) -> None:
    await driver.show(CUT_MENU)
    await driver.click('clickable "Share"')
    assert "Title: share" in driver.text


OPENED = """<style>span:hover { cursor: pointer }</style><span style="float:left">
  <i class=more style="display:block;width:20px;height:20px;background:gray"
    onclick="menu.hidden = !menu.hidden"></i>
  <ul id=menu hidden style="height:20px;overflow:hidden"><li onclick="document.title='share'">Share
  <li onclick="document.title='copy'">Copy<li>Embed<li>Mute</ul></span>"""


async def test_the_container_of_an_icon_and_its_menu_is_not_listed(driver: Driver) -> None:
    page = OPENED.replace("<li>", "<li onclick=0>")
    await driver.show(page)
    await driver.click("clickable #808080 (looks like: more)")
    await driver.click('clickable "Share"')
    assert "Title: share" in driver.text


ICONS = [
    ('<button class="btn px-2"><svg><title>Delete</title></svg></button>', "Delete"),
    ('<button class="btn px-2"><svg><use href="/sprite.svg#trash"></use></svg></button>', "trash"),
    ('<button class="btn px-2"><i class="fa fa-trash"></i></button>', "fa fa-trash"),
    ('<button class="btn"><svg data-icon="gear"><path></path></svg></button>', "gear"),
    ('<a href=# class="btn"><img src="/icons/cart.svg?v=2" width=9 height=9></a>', "cart.svg"),
    ('<button class="btn" data-bs-title="Settings"><i class="gear"></i></button>', "Settings"),
    ('<button class="hamburger">\u200b</button>', "hamburger"),
    ('<button id="menu" class="btn px-2"><i class="x1y2"></i></button>', "menu"),
]


async def test_an_element_without_text_is_named_after_its_icon(
    driver: Driver, subtests: pytest.Subtests
) -> None:
    for html, hint in ICONS:
        with subtests.test(html=html):
            await driver.show(html)
            assert f"(looks like: {hint})" in driver.text


async def test_a_click_on_a_merged_line_reaches_both_elements(driver: Driver) -> None:
    await driver.show("""<table><tr><td onclick="document.title += ' cell'">
      <a href=# onclick="document.title += ' link'; return false">5</a></table>""")
    await driver.click('link "5"')
    assert "Title: link cell" in driver.text


async def test_separate_elements_stay_separate(driver: Driver) -> None:
    text = await driver.show("""<div onclick=x() style=cursor:pointer>Mail from Ann
      <button>Star</button></div><ul id=l><li>Ant</li><li>Bee</li></ul>
      <script>l.addEventListener("click", () => 0)</script>""")
    assert elements(text) == [
        'clickable "Mail from Ann Star"',
        'button "Star"',
        'clickable "Ant"',
        'clickable "Bee"',
    ]


async def test_what_is_scrolled_into_view_is_not_new(driver: Driver) -> None:
    """The mark identifies what the page has added, which would be lost among the rest below."""
    await driver.show("""<p style=height:3000px></p><a href=#>Old</a><p id=p>Far</p>
      <script>addEventListener("scroll", () => { p.innerHTML = "<a href=#>New</a>" })</script>""")
    await driver.say("scroll_to_text", text="Far")
    text = await driver.look()
    assert '\n[1] link "Old"' in text
    assert '\n*[2] link "New"' in text


async def test_drawn_icons_have_a_name(driver: Driver) -> None:
    icon = "<span class='ui-icon ui-icon-{0}'></span>"
    text = await driver.show(f"""<style>.ui-icon {{ display:inline-block; width:16px; height:16px;
      background-image:url(data:image/gif;base64,R0lGODlhAQABAAAAACw=) }}</style>
      <p>Click {icon.format("disk")} here</p><ul role=menu><li role=menuitem>{icon.format("disk")}
      Save</li><li role=menuitem><span class='ui-icon' aria-hidden=true></span>Quit</li></ul>""")
    assert "| Click (image: ui-icon-disk) here" in text
    assert elements(text) == ['menuitem "Save" (icon: ui-icon-disk)', 'menuitem "Quit"']


async def test_entries_of_lists_and_lines_of_code_are_lines(driver: Driver) -> None:
    text = await driver.show("""<ul><li style=display:inline>one</li>
      <li style=display:inline-block>two</li></ul><span role=listitem>three</span><span
      role=listitem>four</span><pre>five\n six</pre>""")
    assert [line for line in text.splitlines() if line.startswith("|")] == [
        "| one",
        "| two",
        "| three",
        "| four",
        "| five",
        "|  six",
    ]


async def test_the_root_of_an_application_is_not_an_element(driver: Driver) -> None:
    text = await driver.show("""<div id=root><div><p>Count 0</p><button>+</button></div></div>
      <script>for (const kind of ["click", "dblclick", "mousedown", "mouseup", "pointerdown",
      "touchstart"]) root.addEventListener(kind, () => 0)</script>""")
    assert "| Count 0" in text
    assert elements(text) == ['button "+"']


async def test_shapes_in_a_drawing_have_color_and_position(driver: Driver) -> None:
    text = await driver.show("""<body style="margin:0"><svg width=200 height=100>
      <rect x=5 y=6 width=20 height=30 fill=red /><circle cx=60 cy=60 r=10 fill=#0000ff />
      <line x1=10 y1=10 x2=110 y2=90 stroke=black /></svg>
      <svg width=16 height=16><rect width=9 height=9 /></svg>""")
    assert elements(text) == [
        "svg at 0,0 size 200×100",
        "rect #ff0000 at 5,6 size 20×30",
        "circle #0000ff at 50,50 size 20×20",
        "line #000000 from 10,10 to 110,90",
    ]


async def test_unnamed_elements_have_color_and_position_also_in_a_frame(
    driver: Driver, site: Site
) -> None:
    box = '<div onclick="x()" style="width:30px;height:20px;background:#008000"></div>'
    site.pages["/inner"] = f"<body style='margin:0'>{box}"
    await driver.show("<body style='margin:0'><iframe src=/inner style='border:0;margin:50px'>")
    assert driver.line("clickable #008000").endswith("at 50,50 size 30×20")


SHADOW = """<my-button></my-button><script>customElements.define("my-button",
  class extends HTMLElement { connectedCallback() {
    this.attachShadow({mode: "open"}).innerHTML = "<button><slot></slot></button>";
    this.append("Order now") } })</script>"""


async def test_an_element_is_named_after_its_slot_content(driver: Driver) -> None:
    assert 'button "Order now"' in await driver.show(SHADOW)


async def test_a_wrapper_of_clickable_elements_is_not_listed(driver: Driver) -> None:
    text = await driver.show("""<div tabindex=0 id=m><div id=a>Nepal</div><p id=b>Niger</p></div>
      <script>for (const el of [m, a, b]) el.addEventListener("click", () => 0)</script>""")
    assert elements(text) == ['clickable "Nepal"', 'clickable "Niger"']


async def test_content_clipped_by_an_area_is_not_shown(driver: Driver) -> None:
    """Neither texts in a line, nor images, nor links above the view."""
    rows = "".join(
        f"<div style='height:50px'><span>Row {n}</span><img src=/x alt='Picture {n}' width=20"
        f" height=20><a href=/{n}>Link {n}</a></div>"
        for n in range(20)
    )
    await driver.show(f"""<div style='height:120px;overflow:auto' id=area>{rows}</div>
      <script>area.scrollTop = 500</script>""")
    text = await driver.look()
    visible = [n for n in range(20) if f"Row {n}" in text and f'link "Link {n}"' in text]
    assert visible == [10, 11, 12]
    hidden = [n for n in range(20) if n not in visible]
    assert not [n for n in hidden if f"Row {n}\n" in text or f'"Link {n}"' in text]
    assert "Picture 3" not in text


async def test_a_half_covered_button_is_clicked_where_it_is_visible(driver: Driver) -> None:
    await driver.show("""<body style="margin:0"><button style="position:absolute;left:0;top:0;
      width:100px;height:40px" onclick="document.title='one'">One</button>
      <div style="position:absolute;left:30px;top:0;width:100px;height:40px;background:red"></div>
      """)
    await driver.click('button "One"')
    assert "Title: one" in driver.text


async def test_the_mouse_moves_to_what_it_clicks(driver: Driver) -> None:
    """A menu that opened under the mouse waits for a second movement."""
    await driver.show("""<button onmousemove="this.n = (this.n || 0) + 1"
      onclick="document.title = this.n > 1 ? 'moved' : 'jumped'">Go</button>""")
    await driver.click('button "Go"')
    assert "Title: moved" in driver.text


async def test_a_text_that_occurs_repeatedly_is_searched_further(driver: Driver) -> None:
    await driver.show("""<p>Order tea</p><p style=height:1500px></p><p>Green tea</p>
      <p style=height:1500px></p><p>Black tea</p>""")
    assert "(2 of 3)" in await driver.say("scroll_to_text", text="tea")
    assert "Green tea" in await driver.look()
    assert "(3 of 3)" in await driver.say("scroll_to_text", text="tea")
    assert "Black tea" in await driver.look()
    assert "(1 of 3)" in await driver.say("scroll_to_text", text="tea")


SUGGESTS = """<input aria-label=Land aria-autocomplete=list><ul id=l></ul><script>
  document.querySelector("input").oninput = () => setTimeout(() => {
    l.innerHTML = "<li role=option>Nepal" }, 300)</script>"""
MENU = """<button aria-haspopup=true onmouseover="setTimeout(() => { m.hidden = false }, 300)">Menu
  </button><div id=m hidden><a href=/save>Save</a></div>"""


async def test_suggestions_and_menus_that_open_late_are_reported(driver: Driver) -> None:
    await driver.show(SUGGESTS)
    assert 'option "Nepal"' in await driver.say("input_text", index=1, text="Ne")
    await driver.show(MENU)
    assert 'link "Save"' in await driver.say("hover", index=1)


async def test_table_rows_and_rows_of_boxes_are_lines(driver: Driver) -> None:
    text = await driver.show("""<table><tr><td><div>201</div><td><p>created</p></table>
      <div style=display:flex><span>Sun</span><b>Mon</b></div>""")
    assert "| 201 | created\n| Sun | Mon" in text


async def test_the_content_of_a_labelled_day_is_shown(driver: Driver) -> None:
    text = await driver.show("""<div role=gridcell aria-label="10 November">10
      <span>Meeting</span></div>""")
    assert '[1] gridcell "10 November"\n| 10 Meeting' in text


async def test_a_value_keeps_its_quotes(driver: Driver) -> None:
    await driver.show("""<textarea aria-label=Body>{"name": "tea"}</textarea>""")
    assert driver.line('textbox "Body"').startswith('textbox "Body" = "{"name": "tea"}"')


CARD = """<div onclick=x() style=cursor:pointer><h3>Lamp</h3><p>Of glass</p><p>With a shade</p>
  <p>9 €</p></div>"""
TREE = """<ul role=tree><li role=treeitem aria-expanded=true>Root<ul role=group>
  <li role=treeitem>Leaf</ul></ul>"""


async def test_cards_and_tree_branches_are_named_after_their_first_line(driver: Driver) -> None:
    assert elements(await driver.show(CARD)) == ['clickable "Lamp"']
    assert elements(await driver.show(TREE)) == ['treeitem "Root" (expanded)', 'treeitem "Leaf"']


async def test_a_choice_that_is_visible_only_as_its_label_is_clicked(driver: Driver) -> None:
    await driver.show("""<form><label><input type=radio name=r style=display:none
      onchange="document.title = 'large'">Large</label></form>""")
    await driver.click('radio "Large"')
    assert "Title: large" in driver.text
    assert driver.line("radio") == 'radio "Large" (checked)'
