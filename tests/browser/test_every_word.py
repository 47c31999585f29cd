"""Each word that Chromium paints in the view is in the page's text, and what acts has a number."""

import re
from typing import Any

import pytest

from tests.browser.driver import Driver

pytestmark = pytest.mark.asyncio(loop_scope="session")

PAGES = {
    "a select whose input is invisible": """<label for=c>Country of birth</label>
      <div data-acts style="cursor:pointer;width:200px;position:relative">
      <input id=c role=combobox readonly style="opacity:0;width:4px;position:absolute">
      <span title=Iceland>Iceland</span></div>""",
    "a calendar": """<div><button data-acts aria-label="Choose a month">Nov 2026</button></div>
      <table><tr><th>Mo<th>Tu</tr><tr>
      <td data-acts title=2026-11-30 style="cursor:pointer"><div>30</div>
      <td data-acts title=2026-12-01 style="cursor:pointer"><div>1</div></table>""",
    "a cell of a notebook": """<div data-acts tabindex=0 aria-label="Code cell, selected">
      <pre>print(6 * 7)</pre>
      <div role=region aria-label=Output><pre>42 answers</pre></div></div>""",
    "markers of a map": """<div style="position:relative;height:60px">
      <img data-acts role=button tabindex=0 alt=Marker title=Berlin width=20 height=20>
      <img data-acts role=button tabindex=0 alt=Marker title=Paris width=20 height=20></div>""",
    "text of a style": """<style>.r::before{content: "Required "} .n::after{content: attr(data-n)}
      .i::before{content: "\\f101"} [data-l]::before{content: attr(data-l) ": "}</style>
      <p class=r>Surname</p><a data-acts href=/i class=n data-n=17>Inbox</a><p class=i>Home</p>
      <table><tr><td data-l=Price>7 euros</table>""",
    "a sorted table": """<div role=grid aria-rowcount=1200><div role=row>
      <span role=columnheader aria-sort=ascending data-acts tabindex=0>Age</span>
      <span role=columnheader aria-sort=descending>City</span></div></div>""",
    "a card in a link": """<a data-acts href=/tea><h3>Great tea from Darjeeling</h3><p>Notes of
      muscatel grapes, a bright copper colour in the cup, and a finish that stays on the tongue for
      as long as you like it to.</p><b>Only 7 euros</b></a>""",
    "rated links": """<a data-acts href=/r><span aria-label="4 of 5 stars">four stars</span>
      12 reviews</a> <button data-acts aria-label="Add to basket">Buy</button>""",
    "fields": """<label>Date <input data-acts placeholder=YYYY-MM-DD></label>
      <input data-acts placeholder="Find a city"><label><input data-acts type=checkbox> Gift</label>
      <select data-acts size=8 multiple aria-label=Sizes>"""
    + "".join(f"<option>size{n}" for n in range(8))
    + "</select><textarea data-acts aria-label=Note>two\n  lines</textarea>",
    "tabs and a tree": """<div role=tablist><span role=tab data-acts aria-selected=true>One</span>
      <span role=tab data-acts>Two</span></div><ul role=tree><li role=treeitem data-acts
      aria-label=Fruits aria-expanded=true>Fruit (2)<ul role=group>
      <li role=treeitem data-acts>Apple<li role=treeitem data-acts>Pear</ul></ul>""",
    "a toolbar of custom elements": """<x-bar><x-button data-acts><b>Run</b></x-button>
      <x-button data-acts><b>Stop</b></x-button><x-menu><x-button data-acts>Code</x-button></x-menu>
      </x-bar><script>for (const e of document.querySelectorAll("x-button"))
      e.addEventListener("click", () => {})</script>""",
    "a toolbar of slots": """<x-bar tabindex=0><x-key title=Save data-acts><svg width=16 height=16>
      <rect width=16 height=16 /></svg></x-key><x-key data-acts>Code</x-key></x-bar>
      <script>const parts = {"x-bar": "<slot></slot>", "x-key": "<button><slot></slot></button>"};
      for (const [name, html] of Object.entries(parts)) customElements.define(name,
      class extends HTMLElement { constructor() { super();
      this.attachShadow({mode: "open"}).innerHTML = html } })</script>""",
    "a component with a handler at the root": """<p>Open <span data-acts id=s>details</span></p>
      <script>s.__reactProps$x = {onClick: () => {}}</script>""",
    "a grid of elements": """<div role=grid><div role=row><b role=columnheader>Name</b>
      <b role=columnheader>Age</b><b role=columnheader>Act</b></div>
      <div role=row style="position:relative;height:30px">
      <div role=gridcell tabindex=-1 data-acts style="position:absolute">Ann</div>
      <div role=gridcell tabindex=-1 data-acts style="position:absolute;left:99px">31</div>
      <div role=gridcell style="position:absolute;left:199px"><button data-acts>Edit</button></div>
      </div></div>""",
    "a table": """<table><tr><td><input type=checkbox data-acts aria-label=Select><td>
      <a href=/j data-acts>John Brown</a><td>Nice<td><button data-acts>Drop</button></table>""",
    "a board": """<div class=list><div class=card data-acts>Lonely card</div></div>
      <div class=list><div class=card data-acts>Second card</div>
      <div class=card data-acts>Third card</div></div>
      <script>for (const e of document.querySelectorAll(".list"))
      e.addEventListener("pointerdown", () => {})</script>""",
}


async def painted_words(driver: Driver) -> set[str]:
    """Return the words in the layout of the view, including those of styles and fields."""
    tab = driver.browser.active
    assert tab is not None
    cdp = await tab.cdp()
    assert cdp is not None
    answer: dict[str, Any] = await cdp.send(
        "DOMSnapshot.captureSnapshot", {"computedStyles": ["visibility", "opacity"]}
    )
    strings = answer["strings"]
    layout = answer["documents"][0]["layout"]
    words: set[str] = set()
    for text, style, (left, top, *_) in zip(
        layout["text"], layout["styles"], layout["bounds"], strict=True
    ):
        is_visible = text >= 0 and strings[style[0]] == "visible" and top < 700 and left < 1200
        if is_visible:
            words |= set(re.findall(r"[^\W_]+", strings[text].casefold()))
    return words


@pytest.mark.parametrize("page", PAGES)
async def test_each_painted_word_is_in_the_text(driver: Driver, page: str) -> None:
    text = await driver.show(PAGES[page])
    shown = set(re.findall(r"[^\W_]+", text.casefold()))
    painted = await painted_words(driver)
    assert painted or page == "markers of a map"
    assert painted - shown == set()
    unnumbered = """() => { const { ids } = window[Symbol.for("manus.page")];
      const parts = (e) => [e, ...e.querySelectorAll("*"), ...e.shadowRoot?.children ?? []];
      const isNumbered = (e) => parts(e).some((one) => ids.has(one));
      const all = Array.from(document.querySelectorAll("[data-acts]"));
      return all.filter((e) => !isNumbered(e)).map((e) => e.outerHTML) }"""
    tab = driver.browser.active
    assert tab is not None
    assert await tab.page.evaluate(unnumbered) == []


@pytest.mark.parametrize(
    ("page", "part"),
    [
        ("a calendar", '"30" [2026-11-30]'),
        ("a calendar", 'button "Choose a month" shows "Nov 2026"'),
        ("markers of a map", 'button "Marker" [Berlin]'),
        ("a sorted table", "(grid of 1200 rows, with the header)"),
        ("a sorted table", '"Age" (sorted ascending)'),
        ("a sorted table", "City (sorted descending)"),
        ("a card in a link", 'link "Great tea from Darjeeling"\n'),
        ("a toolbar of slots", 'button "Save"'),
        ("a grid of elements", '\n| Name | Age | Act\n[1] "Ann" | [2] "31" | [3] button "Edit"\n'),
        ("a table", '(unchecked) | [2] link "John Brown" | Nice | [3] button "Drop"\n'),
        ("fields", 'textbox "Date" = "" [placeholder: YYYY-MM-DD]'),
    ],
)
async def test_what_only_attributes_say_is_in_the_text(
    driver: Driver, page: str, part: str
) -> None:
    assert part in await driver.show(PAGES[page])


async def test_the_rows_of_a_grid_are_read_as_rows(driver: Driver) -> None:
    await driver.show(PAGES["a grid of elements"] + "<p>After</p>")
    text = await driver.say("extract_content")
    assert "Name | Age | Act\nAnn | 31 | Edit" in text
    assert "After" in text
