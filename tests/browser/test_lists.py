"""Lists that a page draws when their field is clicked, chosen from like a dropdown of HTML."""

import pytest

from tests.browser.driver import Driver

pytestmark = pytest.mark.asyncio(loop_scope="session")

LISTS = """<style>ul{border:1px solid;width:200px;height:90px;overflow:auto}</style>
<div aria-expanded=false><button>Plain</button></div>
<p>Guests <span id=chosen></span><input type=search role=searchbox aria-label=Guests id=guests
  aria-expanded=false></p>
<p>City <span style="position:relative;border:1px solid;display:inline-block;width:9em;height:1em">
  <span id=shown style="pointer-events:none"></span><input role=combobox id=city aria-label=City
  aria-expanded=false style="opacity:0;position:absolute;inset:0"></span></p>
<p><div role=combobox tabindex=0 aria-haspopup=listbox aria-expanded=false aria-label=Size id=size>
  Small</div></p>
<p><input role=combobox aria-label=Deaf aria-expanded=false id=deaf></p>
<script>
function drop(field, options, choose) {
  field.setAttribute("aria-expanded", true);
  const list = document.createElement("ul");
  list.setAttribute("role", "listbox");
  for (const text of options) {
    const item = document.createElement("li");
    item.setAttribute("role", "option");
    item.textContent = text;
    item.onclick = () => { choose(text); close(); };
    list.append(item);
  }
  const close = () => { list.remove(); field.setAttribute("aria-expanded", false); };
  document.body.append(list);
  return close;
}
guests.onclick = () =>
  drop(guests, ["Ann", "Anna", "王小明"], t => { chosen.textContent += t + " " });
let closeCities = () => {};
const cities = Array.from({length: 300}, (_, n) => `Place ${n}`);
city.onclick = () => setTimeout(() => { closeCities = drop(city, cities.slice(0, 4), take) }, 700);
city.oninput = () => { closeCities();
  setTimeout(() => { closeCities();
    const found = cities.filter(c => c.includes(city.value));
    closeCities = drop(city, found.slice(0, 4), take) }, 700) };
function take(text) { shown.textContent = text; city.value = "" }
size.onmousedown = () => drop(size, ["Small", "Large"], t => { size.textContent = t });
deaf.onclick = () => drop(deaf, ["One"], () => {});
</script>"""


async def test_options_are_clicked(driver: Driver) -> None:
    await driver.show(LISTS)
    for label, words in (
        ('searchbox "Guests"', "Ann\n王小明"),
        ('combobox "City"', "Place 3"),
        ('combobox "Size"', "large"),
    ):
        number = driver.number(label)
        output = await driver.say("select_dropdown_option", index=number, text=words)
        quoted = ", ".join(f'"{word}"' for word in words.split("\n"))
        assert output.startswith(f"Chose {quoted} in [{number}] {label}."), output
    text = await driver.look()
    assert "Ann 王小明" in text
    assert "Place 3" in text
    assert '"Size" shows "Large"' in text
    assert "option" not in text, "the lists are closed"


async def test_what_is_not_there_or_not_taken_is_said(driver: Driver) -> None:
    await driver.show(LISTS)
    number = driver.number('combobox "Size"')
    error = await driver.fail("select_dropdown_option", index=number, text="Huge")
    assert 'shows no option "Huge"' in error
    assert 'option "Small" | option "Large"' in error
    output = await driver.say(
        "select_dropdown_option", index=driver.number('combobox "Deaf"'), text="One"
    )
    assert output.startswith('Clicked "One" in the list')
    assert "does not show it" in output
    city = driver.number('combobox "City"')
    error = await driver.fail("select_dropdown_option", index=city, text="Place 217")
    assert 'shows no option "Place 217"; scroll it, or filter it by text.' in error
    await driver.look()
    assert '= ""' in driver.line('combobox "City"'), "nothing is typed without a question"
    error = await driver.fail(
        "select_dropdown_option", index=driver.number('button "Plain"'), text="One"
    )
    assert "is not a dropdown" in error
