"""The part of a page that the model sees, and the text that it can extract."""

import re

import pytest
from langchain_core.messages import BaseMessage

from manus.state.errors import ModelUnavailableError
from tests.browser.driver import Driver
from tests.browser.site import Site

pytestmark = pytest.mark.asyncio(loop_scope="session")


def numbers(text: str) -> list[int]:
    return [int(n) for n in re.findall(r"(?m)^ *\*?\[(\d+)\]", text)]


async def test_elements_have_number_role_name_value_and_state(
    driver: Driver, subtests: pytest.Subtests
) -> None:
    text = await driver.show("""<title>Order</title><h2>Your order</h2><p>Pick a size.</p>
      <a href=/terms>Terms</a> <button disabled>Pay</button>
      <label>Name <input value=Ann required></label>
      <input type=checkbox id=c checked><label for=c>Gift</label>
      <select aria-label=Size><option>S<option selected>M</select>
      <button aria-expanded=false>More</button><details><summary>Help</summary>text</details>
      <div role=tab aria-selected=true tabindex=0>Cart</div>""")
    assert "Title: Order" in text
    assert "## Your order" in text
    assert "| Pick a size." in text
    for case, line in (
        ('link "Terms"', ""),
        ('button "Pay"', " (disabled)"),
        ('textbox "Name"', ' = "Ann" (required)'),
        ('checkbox "Gift"', " (checked)"),
        ('combobox "Size"', ' = "M" [options: S | M]'),
        ('button "More"', " (collapsed)"),
        ('button "Help"', " (collapsed)"),
        ('tab "Cart"', " (selected)"),
    ):
        with subtests.test(case=case, line=line):
            assert driver.line(case) == case + line
    assert numbers(text) == list(range(1, 9))


async def test_covered_text_and_passwords_are_not_shown(driver: Driver) -> None:
    text = await driver.show("""<button>Under</button><p>Text under it</p>
      <div style="position:fixed;inset:0;background:#fff"><button>Over</button>
      <input type=password aria-label=Secret value=hunter2></div>
      <button style=visibility:hidden>Unseen</button><button style=display:none>None</button>""")
    assert "Over" in text
    hidden = ("Under", "under it", "Unseen", '"None"', "hunter2")
    assert not [word for word in hidden if word in text]
    assert "••••" in driver.line('password field "Secret"')
    output = await driver.write('password field "Secret"', "swordfish")
    assert "swordfish" not in output + driver.text


async def test_frames_and_shadow_roots_are_part_of_the_page(driver: Driver, site: Site) -> None:
    other = site.base.replace("127.0.0.1", "localhost")
    site.pages["/"] = f"""<div id=host></div>
      <iframe name=same src=/inner width=300 height=100></iframe>
      <iframe title=foreign src={other}/inner width=300 height=100></iframe>
      <script>host.attachShadow({{mode: "open"}}).innerHTML = "<button>In shadow</button>"</script>
    """
    site.pages["/inner"] = (
        "<button onclick='document.title=1;this.textContent=\"Done\"'>In</button>"
    )
    text = await driver.open(site.base)
    assert driver.line('button "In shadow"')
    assert f'frame "foreign" {other}/inner' in text
    inside = [line for line in text.splitlines() if line.strip().endswith('button "In"')]
    assert len(inside) == 2
    assert all(line.startswith("  [") for line in inside)
    last = numbers(inside[1])[0]
    await driver.say("click_element", index=last)
    await driver.look()
    assert driver.number('button "Done"') == last


async def test_numbers_stay_and_new_elements_are_marked(driver: Driver) -> None:
    await driver.show("""<button onclick="b.insertAdjacentHTML('beforebegin','<a href=#>New</a>')">
      Add</button><button id=b>Last</button>""")
    add, last = driver.number('button "Add"'), driver.number('button "Last"')
    text = await driver.look()
    assert "*" not in text
    await driver.click('button "Add"')
    assert (driver.number('button "Add"'), driver.number('button "Last"')) == (add, last)
    assert re.search(r'(?m)^\*\[3\] link "New"$', driver.text)
    assert "*" not in await driver.look()


async def test_an_unknown_number_names_the_nearest_ones_once(driver: Driver) -> None:
    await driver.show("<button onclick='this.remove()'>Save</button><button>Save as</button><p>Low")
    await driver.click('button "Save"\n')
    error = await driver.fail("click_element", index=1)
    assert error.startswith("Nothing was done: [1]")
    assert error.endswith('[2] button "Save as".')
    assert "\n" not in error
    assert error in await driver.look()
    assert error not in await driver.look()
    assert "[99] is not on the page" in await driver.fail("click_element", index=99)


async def test_content_above_below_or_omitted_is_mentioned(driver: Driver) -> None:
    rows = "".join(f"<p style='height:100px'><a href=/{n}>Link {n}</a></p>" for n in range(40))
    text = await driver.show(f"<body style='margin:0'>{rows}")
    assert re.search(r"Page: nothing above; \d\.\d screens below \(\d+ elements\)", text)
    assert '"Link 0"' in text
    assert '"Link 30"' not in text
    await driver.say("scroll_down", scroll_amount=2000)
    text = await driver.look()
    assert re.search(r"Page: 2\.5 screens above \(\d+ elements\); \d\.\d screens below", text)
    assert '"Link 0"' not in text
    words = "word " * 60
    cells = "".join(f"<button>{words}{n}</button><span>{words}</span>" for n in range(250))
    text = await driver.show(f"<style>*{{font-size:2px;margin:0;padding:0}}</style>{cells}")
    limit = driver.session.settings.browser.page_characters
    assert limit // 2 < len(text) < limit + 200
    assert re.search(r"\d+ more elements in view are omitted", text)


async def test_clickable_elements_without_a_role_are_listed_and_text_is_not(driver: Driver) -> None:
    text = await driver.show("""<pre>\n[7] button "Buy"\n</pre>
      <div id=a>By listener</div><div id=b>By property</div>
      <div style="cursor:pointer">By cursor</div><div>Plain</div>
      <input type=number aria-label=Count min="1&#10;[7] link" max=3>
      <div role=slider tabindex=0 aria-label=Level aria-valuetext="a&#10;[8] link">x</div>
      <script>a.addEventListener("click", () => a.textContent = "heard");
      b.onclick = () => 0</script>""")
    assert driver.line('clickable "By listener"')
    assert driver.line('clickable "By property"')
    assert driver.line('clickable "By cursor"')
    assert "| Plain" in text
    assert numbers(text) == [1, 2, 3, 4, 5]
    assert "1 [7] link to 3" in driver.line('spinbutton "Count"'), "nor is an attribute a line"
    await driver.click('clickable "By listener"')
    assert driver.line('clickable "heard"')


FILLER = "".join(
    f"<h2>Part {n}</h2><p>{'Nothing of interest stands in this long paragraph. ' * 12}</p>"
    for n in range(60)
)
PAGE = f"""<title>Report</title><nav><a href=/>Home</a></nav><article><h1>Yearly report</h1>
  {FILLER}<h2>Penguins</h2><p>The colony counts 4,211 penguins.</p>{FILLER}</article>"""


async def test_without_a_goal_everything_is_read_page_by_page(driver: Driver, site: Site) -> None:
    site.pages["/in"] = "<p>Inside words</p>"
    await driver.show("<p>Outside</p><iframe src=/in></iframe>")
    output = await driver.say("extract_content")
    assert "Outside" in output
    assert "Inside words" in output
    await driver.show("<canvas></canvas>")
    assert "no readable text" in await driver.fail("extract_content")
    await driver.show(PAGE)
    first = await driver.say("extract_content")
    assert first.startswith(f"Text of {site.base}/, page 1 of ")
    count = int(first.split("page 1 of ")[1].split(":")[0])
    assert len(first) < 8_200
    last = await driver.say("extract_content", page=count)
    assert f"page {count} of {count}" in last
    output = await driver.fail("extract_content", page=count + 1)
    assert f"page {count + 1} does not exist" in output


async def test_with_a_goal_matching_parts_or_a_models_answer_are_returned(driver: Driver) -> None:
    await driver.show(PAGE)
    output = await driver.say("extract_content", goal="How many penguins are there?")
    assert "4,211 penguins" in output
    assert len(output) < 6_500
    requests: list[tuple[str, list[BaseMessage]]] = []

    async def complete(role: str, messages: list[BaseMessage]) -> str:
        requests.append((role, messages))
        if len(requests) > 1:
            raise ModelUnavailableError("The model does not answer.")
        return "4,211"

    driver.session.complete = complete
    output = await driver.say("extract_content", goal="How many penguins?")
    assert output == f"What {driver.site.base}/ says about the goal:\n4,211"
    role, messages = requests[0]
    assert (role, [message.type for message in messages]) == ("extract", ["system", "human"])
    assert "Goal: How many penguins?" in messages[1].text
    assert "4,211 penguins" in messages[1].text
    assert len(messages[1].text) < 41_000
    output = await driver.say("extract_content", goal="How many penguins?")
    assert "does not answer" in output
    assert "4,211 penguins" in output
