"""Scripted policies for MiniWoB++ tasks. They see the tool's text and use the tool's actions.

A policy knows what kind of task it is, as a person does who has seen it once; what is to be clicked
or written in an episode it reads from the page's text.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from benchmarks.miniwob_player import Element, Player

Policy = Callable[[Player], Awaitable[None]]
POLICIES: dict[str, Policy] = {}
_FIELDS = ("textbox", "password field", "spinbutton", "searchbox")


def plays(*tasks: str) -> Callable[[Policy], Policy]:
    def register(policy: Policy) -> Policy:
        POLICIES.update(dict.fromkeys(tasks, policy))
        return policy

    return register


def nth(text: str) -> int:
    match = re.search(r"(\d+)(?:st|nd|rd|th)", text)
    assert match
    return int(match[1]) - 1


# --- clicking ------------------------------------------------------------------------------------


@plays("click-test", "click-test-2", "click-test-transfer", "click-button", "unicode-test")
async def click_button(p: Player) -> None:
    names = p.quoted() or re.findall(r"button ([A-Z]+)\.", p.task) or ["Click Me!"]
    await p.press(names[0])


@plays("click-button-sequence", "button-delay")
async def click_sequence(p: Player) -> None:
    await p.press("ONE")
    if seconds := re.search(r"wait (\d+) sec", p.task):
        await p.do("wait", seconds=float(seconds[1]) + 0.2)
    await p.press("TWO")


@plays("ascending-numbers")
async def ascending(p: Player) -> None:
    # the numbers go away with the first click, so their places are learned before
    for element in sorted(p.view.of("text"), key=lambda e: int(e.name)):
        x, y = element.middle
        await p.do("click_at", x=x, y=y)


@plays("click-checkboxes", "click-checkboxes-large", "click-checkboxes-transfer", "click-option")
async def click_options(p: Player) -> None:
    (words,) = p.wanted(r"Select (.*) and click")
    for name in [] if words == "nothing" else words.split(", "):
        await p.click(p.view.named(name, "checkbox", "radio")[0])
    await p.press("Submit")


@plays("choose-list", "click-scroll-list")
async def choose(p: Player) -> None:
    (words,) = p.wanted(r"Select (.*?) from the")
    box = p.view.of("combobox", "listbox")[0]
    names = words.split(", ") if box.role == "listbox" else [words]
    await p.do("select_dropdown_option", index=box.number, text="\n".join(names))
    await p.press("Submit")


@plays("click-collapsible", "click-collapsible-nodelay")
async def collapsible(p: Player) -> None:
    await p.click(p.view.of("tab")[0])
    await p.do("wait", seconds=0.5)
    await p.press("Submit")


@plays(
    "click-collapsible-2",
    "click-collapsible-2-nodelay",
    "click-tab-2",
    "click-tab-2-easy",
    "click-tab-2-hard",
    "click-tab-2-medium",
)
async def find_link(p: Player) -> None:
    name = p.quoted()[0]
    tabs = [e.number for e in p.view.of("tab")]
    for tab in [None, *tabs]:
        if tab is not None:
            await p.do("click_element", index=tab)
            await p.do("wait", seconds=0.5)
        found = p.view.named(name, "clickable")
        if not found and any(e.role == "clickable" for e in p.view.elements):
            await p.do("scroll_to_text", text=name)
            found = p.view.named(name, "clickable")
        if found:
            await p.click(found[0])
            return


@plays("click-dialog", "click-dialog-2")
async def dialog(p: Player) -> None:
    name = p.quoted()[0]
    await p.press("Close" if name == "x" else name)


@plays("click-link")
async def link(p: Player) -> None:
    await p.click(p.view.named(p.quoted()[0], "clickable")[0])


@plays("click-tab")
async def tab(p: Player) -> None:
    (name,) = p.wanted(r"Click on (Tab #\d+)")
    await p.click(p.view.named(name, "link")[0])


@plays("click-menu")
async def menu(p: Player) -> None:
    (path,) = p.wanted(r"Select (.*)")
    *first, last = path.split(">")
    for name in first:
        await p.do("hover", index=p.view.named(name, "menuitem")[0].number)
        await p.do("wait", seconds=0.6)
    await p.click(p.view.named(last, "menuitem")[0])


@plays("click-menu-2")
async def menu_2(p: Player) -> None:
    await p.press("Menu")
    await p.do("wait", seconds=0.6)
    item = (p.quoted()[1:] or p.quoted())[-1]
    for parent in ("Playback",):
        if not p.view.named(item, "menuitem"):
            await p.do("hover", index=p.view.named(parent, "menuitem")[0].number)
            await p.do("wait", seconds=0.6)
    await p.click(p.view.named(item, "menuitem")[0])


@plays("click-pie", "click-pie-nodelay")
async def pie(p: Player) -> None:
    await p.click(p.view.named("+", "text")[0])
    await p.do("wait", seconds=1)
    await p.click(p.view.named(p.quoted()[0], "text")[0])


@plays("click-widget")
async def widget(p: Player) -> None:
    kind = p.quoted()[0]
    role = {"text": "textbox", "textarea": "textbox"}.get(kind, kind)
    several = kind == "textarea"
    found = [e for e in p.view.of(role) if ("multiline" in e.states) == several]
    await p.click(found[0])


@plays("click-color")
async def color(p: Player) -> None:
    asked, *offered = [e for e in p.view.of("clickable") if "background" in e.extra]
    await p.click(next(e for e in offered if e.extra == asked.extra))


@plays("focus-text", "focus-text-2")
async def focus(p: Player) -> None:
    fields = p.view.of("textbox")
    await p.click(fields[nth(p.task)] if re.search(r"\d", p.task) else fields[0])


@plays("grid-coordinate")
async def grid(p: Player) -> None:
    (place,) = p.wanted(r"(\(-?\d,-?\d\))")
    line = next(e for e in p.view.of("circle") if e.hint == place)
    await p.click(line)


@plays("navigate-tree")
async def tree(p: Player) -> None:
    name = p.quoted()[0]
    tried: set[str] = set()
    for _ in range(20):
        if found := p.view.named(name, "clickable"):
            await p.click(found[-1])
            return
        folder = next(e for e in p.view.of("clickable") if e.name and e.name not in tried)
        tried.add(folder.name)
        await p.click(p.view.named(folder.name)[-1])
        await p.do("wait", seconds=0.4)


@plays("odd-or-even")
async def odd(p: Player) -> None:
    numbers = [(place, int(t)) for place, t in p.view.texts if re.fullmatch(r"-?\d+", t)]
    for place, number in numbers:
        name = "Odd" if number % 2 else "Even"
        near = min(p.view.named(name, "button"), key=lambda e, at=place: abs(e.line - at))  # type: ignore[misc]
        await p.click(near)
    await p.press("Submit")


@plays("phone-book")
async def phone_book(p: Player) -> None:
    name, what = p.wanted(r"Find (\w+) in the contact book and click on their (\w+)")
    place = {"phone": 0, "email": 1, "address": 2}[what]
    for _ in range(12):
        if any(text == name for _, text in p.view.texts):
            await p.click(p.view.of("link")[place])
            return
        await p.click(p.view.named(">", "link")[0])


@plays("sign-agreement")
async def agreement(p: Player) -> None:
    if "cancel" in p.task.lower():
        await p.press("Cancel")
        return
    area = p.view.of("textbox")[0]
    await p.do("scroll_down", index=area.number, scroll_amount=100_000)
    (name,) = p.quoted()[-1:] or ["x"]
    await p.type(p.view.of("textbox")[1], name)
    await p.press("Agree")


@plays("find-greatest")
async def greatest(p: Player) -> None:
    cards = [e for e in p.view.of("clickable") if e.name.isdigit()]
    await p.click(max(cards, key=lambda e: int(e.name)))
    await p.press("Submit")


@plays("buy-ticket")
async def ticket(p: Player) -> None:
    times = []
    for place, text in p.view.texts:
        if match := re.fullmatch(r"(\d+)h (\d+)m", text):
            times.append((int(match[1]) * 60 + int(match[2]), place))
    buttons = [e for e in p.view.of("button") if e.name.startswith("Book")]
    if "cheapest" in p.task:
        await p.click(min(buttons, key=lambda e: int(e.name.split("$")[1])))
        return
    best = (max if "longest" in p.task else min)(times)[1]
    await p.click(next(e for e in buttons if e.line > best))


@plays("stock-market")
async def stock(p: Player) -> None:
    (limit,) = p.wanted(r"less than \$([\d.]+)\.")
    for _ in range(300):
        price = next(t for _, t in p.view.texts if t.startswith("Stock price: $"))
        if float(price.split("$")[1]) < float(limit):
            await p.press("Buy")
            return
        await p.look()


@plays("social-media")
async def social(p: Player) -> None:
    user, button = p.wanted(r"For the user (@\w+), click on the \"(.*?)\" button")
    await _like(p, user, button, 1)


@plays("social-media-all", "social-media-some")
async def social_all(p: Player) -> None:
    (button,) = p.quoted()[:1]
    (user,) = p.wanted(r"by (@\w+)")
    count = re.search(r"on (\d+) post", p.task)
    await _like(p, user, button, int(count[1]) if count else 99)
    await p.press("Submit")


async def _like(p: Player, user: str, button: str, limit: int) -> None:
    hint = {"Like": "like", "Reply": "reply", "Retweet": "retweet", "Share": "share"}[button]
    done: set[int] = set()
    for _ in range(12):
        posts = [place for place, text in p.view.texts if f"{user} " in f"{text} "]
        for post in posts:
            found = next((e for e in p.view.elements if e.line > post and e.hint == hint), None)
            if found is not None and found.number not in done and len(done) < limit:
                done.add(found.number)
                await p.do("click_element", index=found.number)
        area = p.view.of("scroll area")
        if not area or len(done) >= limit:
            return
        said = await p.do("scroll_down", index=area[0].number, scroll_amount=60)
        if "at its end" in said:
            return


# --- writing -------------------------------------------------------------------------------------


@plays("enter-text", "enter-text-dynamic", "enter-password", "login-user", "login-user-popup")
async def enter(p: Player) -> None:
    words = p.quoted()
    for place in range(len(p.view.of(*_FIELDS))):
        field = p.view.of(*_FIELDS)[place]
        await p.type(field, words[min(place, len(words) - 1)])
        for name in ("Cancel", "No"):
            if p.view.named(name, "button"):  # a window that gets in the way
                await p.press(name)
    names = [e.name for e in p.view.of("button")]
    await p.press(names[-1])


@plays("enter-text-2")
async def letters(p: Player) -> None:
    word = p.quoted()[0]
    await p.type(p.view.of("textbox")[0], word.upper() if "upper" in p.task else word.lower())
    await p.press("Submit")


@plays("enter-date")
async def date(p: Player) -> None:
    month, day, year = p.wanted(r"(\d\d)/(\d\d)/(\d{4})")
    await p.type(p.view.of("date field")[0], f"{year}-{month}-{day}")
    await p.press("Submit")


@plays("enter-time")
async def time(p: Player) -> None:
    hour, minute, half = p.wanted(r"(\d+):(\d\d) (AM|PM)")
    hours = int(hour) % 12 + (12 if half == "PM" else 0)
    await p.type(p.view.of("time field")[0], f"{hours:02}:{minute}")
    await p.press("Submit")


@plays("choose-date", "choose-date-easy", "choose-date-medium", "choose-date-nodelay")
async def pick_date(p: Player) -> None:
    month, day, _ = p.wanted(r"(\d\d)/(\d\d)/(\d{4})")
    await p.click(p.view.of("textbox")[0])
    await p.do("wait", seconds=0.4)
    months = "January February March April May June July August September October November December"
    wanted = months.split()[int(month) - 1]
    for _ in range(13):
        if any(wanted in text for _, text in p.view.texts):
            break
        back = next(e for e in p.view.elements if e.name == "Prev")
        await p.click(back)
        await p.do("wait", seconds=0.2)
    days = [e for e in p.view.elements if e.name == str(int(day)) and e.role == "link"]
    await p.click(days[0])
    await p.press("Submit")


@plays("copy-paste", "copy-paste-2")
async def copy(p: Player) -> None:
    *sources, answer = p.view.of("textbox")
    source = sources[nth(p.task)] if len(sources) > 1 else sources[0]
    await p.do("click_element", index=source.number)
    await p.do("send_keys", keys="Control+A")
    await p.do("send_keys", keys="Control+C")
    await p.do("click_element", index=answer.number)
    await p.do("send_keys", keys="Control+V")
    await p.press("Submit")


@plays("find-word")
async def find_word(p: Player) -> None:
    text = " ".join(t for _, t in p.view.texts[1:])
    word = re.findall(r"[\w']+", text)[nth(p.task)]
    await p.type(p.view.of("textbox")[0], word)
    await p.press("Submit")


@plays("text-transform")
async def transform(p: Player) -> None:
    await p.type(p.view.of("textbox")[0], p.view.texts[1][1])
    await p.press("Submit")


@plays("read-table", "read-table-2")
async def read_table(p: Player) -> None:
    rows = dict(t.split(" | ", 1) for _, t in p.view.texts if " | " in t)
    if one := re.search(r"the value of (.*) into", p.task):
        labels = [one[1]]
    else:
        labels = [t.rstrip(":") for _, t in p.view.texts if t.endswith(":")]
    for place, label in enumerate(labels):
        await p.type(p.view.of("textbox")[place], rows[label])
    await p.press("Submit")


@plays("simple-algebra")
async def algebra(p: Player) -> None:
    sum_ = next(t for _, t in p.view.texts if "=" in t and re.search(r"\d", t))
    left, right = sum_.split("=")
    shifts = range(-1000, 1001)
    value = next(n for n in shifts if _value(left.replace("x", f"({n})")) == _value(right))
    await p.type(p.view.of("textbox")[0], str(value))
    await p.press("Submit")


@plays("simple-arithmetic")
async def arithmetic(p: Player) -> None:
    sum_ = next(t for _, t in p.view.texts[1:] if re.search(r"\d.*=", t))
    await p.type(p.view.of("textbox")[0], str(_value(sum_.rstrip(" =").replace("x", "*"))))
    await p.press("Submit")


def _value(sum_: str) -> int:
    numbers = re.findall(r"-?\(?-?\d+\)?|[-+*]", sum_.replace(" ", ""))
    tokens = re.findall(r"\(-?\d+\)|\d+|[-+*]", sum_.replace(" ", ""))
    assert numbers
    total, sign, place = None, "+", 0
    if tokens and tokens[0] == "-":
        tokens = ["0", *tokens]
    while place < len(tokens):
        token = tokens[place]
        if token in "+-*":
            sign = token
            if tokens[place + 1] == "-":
                tokens[place + 1 : place + 3] = [f"(-{tokens[place + 2]})"]
        else:
            number = int(token.strip("()"))
            if total is None:
                total = number
            else:
                total = {"+": total + number, "-": total - number, "*": total * number}[sign]
        place += 1
    return total or 0


@plays("guess-number")
async def guess(p: Player) -> None:
    low, high = (int(n) for n in p.wanted(r"between (\d+)-(\d+)"))
    while low <= high:
        middle = (low + high) // 2
        await p.type(p.view.of("spinbutton")[0], str(middle))
        await p.press("Submit")
        words = " ".join(t for _, t in p.view.texts[1:])
        if "higher" in words:
            low = middle + 1
        elif "lower" in words:
            high = middle - 1
        else:
            return


@plays("generate-number")
async def generate(p: Player) -> None:
    kind = "greater" if "greater" in p.task else "less" if "less" in p.task else ""
    kind = kind or ("even" if "even" in p.task else "odd")
    limit = int((re.findall(r"than (\d+)", p.task) or [0])[0])
    for _ in range(60):
        await p.press("Generate")
        number = int(next(t for _, t in p.view.texts[1:] if t.isdigit()))
        fits = {
            "greater": number > limit,
            "less": number < limit,
            "even": number % 2 == 0,
            "odd": number % 2 == 1,
        }
        if fits[kind]:
            await p.press("Submit")
            return


@plays("multi-layouts", "multi-orderings")
async def movies(p: Player) -> None:
    genre, director, year = p.wanted(r"for (\w+) movies directed by (\w+) from year (\d+)")
    values = {"genre": genre, "director": director, "year": year}
    fields = [e.number for e in p.view.of("textbox")]
    for number in fields:
        element = next(e for e in p.view.elements if e.number == number)
        label = next(t for at, t in reversed(p.view.texts) if at < element.line).lower()
        await p.type(element, next(v for key, v in values.items() if key in label))
    button = [e for e in p.view.of("button", "clickable") if e.name][-1]
    await p.click(button)


@plays("search-engine")
async def search_engine(p: Player) -> None:
    words = p.quoted()[0]
    place = nth(p.task)
    await p.type(p.view.of("textbox")[0], words)
    await p.press("Search")
    for _ in range(place // 3):
        await p.press(">")
    results = [e for e in p.view.elements if e.role in ("link", "clickable")]
    results = [e for e in results if not re.fullmatch(r"\d|[<>]", e.name)]
    await p.click(results[place % 3])


@plays("use-autocomplete", "use-autocomplete-nodelay")
async def autocomplete(p: Player) -> None:
    words = p.quoted()
    await p.type(p.view.of("textbox")[0], words[0])
    await p.do("wait", seconds=1)
    end = words[1] if len(words) > 1 else ""
    items = [e for e in p.view.elements if e.role in ("menuitem", "option", "clickable")]
    fits = [e for e in items if e.name.startswith(words[0]) and e.name.endswith(end)]
    await p.click(fits[-1])
    await p.press("Submit")


@plays("use-spinner")
async def spinner(p: Player) -> None:
    (number,) = p.wanted(r"Select (-?\d+) with")
    await p.type(p.view.of("spinbutton")[0], number)
    await p.press("Submit")


@plays("use-slider", "use-slider-2", "form-sequence")
async def sliders(p: Player) -> None:
    if "combination" in p.task:
        wanted = [int(n) for n in re.findall(r"-?\d+", p.wanted(r"\[(.*?)\]")[0])]
    else:
        wanted = [int(p.wanted(r"Select (-?\d+) with")[0])]
    handles = [e.number for e in p.view.elements if e.hint.startswith("ui-slider-handle")]
    for number, goal in zip(handles, wanted, strict=True):
        await p.do("click_element", index=number)
        for _ in range(250):
            line = next(e.line for e in p.view.elements if e.number == number)
            now = int(next(t for at, t in p.view.texts if at > line))
            if now == goal:
                break
            key = "Right" if now < goal else "Left"
            await p.do("send_keys", keys=" ".join([key] * min(abs(now - goal), 40)))
    if "checkbox" in p.task:
        await p.click(p.view.of("checkbox")[nth(p.task)])
    await p.press("Submit")


@plays("form-sequence-2")
async def form_2(p: Player) -> None:
    radio, number, place = p.wanted(r"the (\d\w\w) radio .* \"(\d+)\" into the (\d\w\w) textbox")
    await p.click(p.view.of("radio")[nth(radio)])
    await p.type(p.view.of("textbox")[nth(place)], number)
    await p.press("Submit")


# --- mail ----------------------------------------------------------------------------------------


def _mail(p: Player, sender: str) -> Element:
    return next(e for e in p.view.of("clickable") if e.name.startswith(sender + " "))


@plays("email-inbox-delete", "email-inbox-noscroll", "email-inbox-important", "email-inbox")
async def mail(p: Player) -> None:
    (sender,) = p.wanted(r"by (\w+)")
    if not any(e.name.startswith(sender + " ") for e in p.view.elements):
        await p.do("scroll_to_text", text=sender)
    entry = _mail(p, sender)
    if "trash" in p.task or "star" in p.task:
        hint = "trash" if "trash" in p.task else "star"
        await p.click(next(e for e in p.view.elements if e.line > entry.line and e.hint == hint))
        return
    await p.click(entry)
    if "forward" in p.task:
        (to,) = p.wanted(r"to (\w+)\.")
        await _forward(p, to)
        return
    await _reply(p, p.quoted()[0])


@plays("email-inbox-forward", "email-inbox-forward-nl")
async def forward(p: Player) -> None:
    names = re.findall(r"\b([A-Z][a-z]+)\b", p.task)
    present = [n for n in names if any(e.name.startswith(n + " ") for e in p.view.elements)]
    patterns = (
        r"(?:by|from|of) (?P<a>[A-Z]\w+).*?to (?P<b>[A-Z]\w+)",
        r"to (?P<b>[A-Z]\w+).*?(?:by|from) (?P<a>[A-Z]\w+)",
        r"(?:give|send|forward) (?P<b>[A-Z]\w+).*?(?:by|from|that) (?P<a>[A-Z]\w+)",
    )
    for pattern in patterns:
        if match := re.search(pattern, p.task, re.IGNORECASE):
            sender, to = match["a"], match["b"]
            break
    else:
        sender, to = present[0], names[-1]
    await p.click(_mail(p, sender))
    await _forward(p, to)


@plays("email-inbox-reply")
async def reply(p: Player) -> None:
    (sender,) = p.wanted(r"by (\w+)")
    await p.click(_mail(p, sender))
    await _reply(p, p.quoted()[0])


async def _forward(p: Player, to: str) -> None:
    await p.click(p.view.named("Forward")[0])
    await p.type(p.view.of("textbox")[0], to)
    await p.click(next(e for e in p.view.elements if "send" in f"{e.hint} {e.name}".lower()))


async def _reply(p: Player, text: str) -> None:
    await p.click(p.view.named("Reply")[0])
    await p.type(p.view.of("textbox")[-1], text)
    await p.click(next(e for e in p.view.elements if "send" in f"{e.hint} {e.name}".lower()))


# --- shapes --------------------------------------------------------------------------------------


def _fits(element: Element, words: str) -> bool:
    fill = re.search(r"fill (\w+)", element.extra)
    colors = re.findall(r"\b(red|green|blue|yellow|black|magenta|aqua)\b", words)
    if colors and (fill is None or fill[1] != colors[0]):
        return False
    side = max(element.box[2:])
    large = side >= 15
    if ("small" in words and large) or ("large" in words and not large):
        return False
    is_text = element.role == "text"
    kinds = {
        "rectangle": element.role == "rect",
        "circle": element.role == "circle",
        "triangle": element.role == "polygon",
        "digit": is_text and element.name.isdigit(),
        "number": is_text and element.name.isdigit(),
        "letter": is_text and element.name.isalpha(),
    }
    named = [fits for kind, fits in kinds.items() if kind in words]
    single = re.search(r"\b(?:[a-zA-Z]|\d)(?:s)?$", words.strip(" .?"))
    if single and not named and is_text:
        return element.name == single[0][0]
    return named[0] if named else True


def _shapes(p: Player) -> list[Element]:
    return p.view.of("rect", "circle", "polygon", "text")


@plays("click-shape")
async def click_shape(p: Player) -> None:
    (words,) = p.wanted(r"Click on an? (.*)")
    await p.click(next(e for e in _shapes(p) if _fits(e, words)))


@plays("count-shape")
async def count_shape(p: Player) -> None:
    (words,) = p.wanted(r"How many (.*?)s? are there")
    count = sum(_fits(e, words) for e in _shapes(p))
    await p.press(str(count))


@plays("identify-shape")
async def identify(p: Player) -> None:
    shape = _shapes(p)[0]
    names = {"rect": "Rectangle", "circle": "Circle", "polygon": "Triangle"}
    text = "Number" if shape.name.isdigit() else "Letter"
    await p.press(names.get(shape.role, text))
