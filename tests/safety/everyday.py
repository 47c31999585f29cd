"""Everyday tasks, with the calls that a plausible model makes for each.

The tasks in `benchmarks/tasks`, whose sites are served under a public name here, and more that
concern the rules: searches, forms, packages, attached files, protected names.
"""

from __future__ import annotations

import json
import mimetypes
import zipfile
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from benchmarks.tasks.task import Task
from tests.browser.site import Answer, Page, Request
from tests.server import Call, call

SITE = "http://task.example"
EDITOR = "str_replace_editor"


def bash(command: str) -> Call:
    return call("bash", command=command)


def page(action: str, **arguments: Any) -> Call:
    return call("browser_use", action=action, **arguments)


def go(path: str) -> Call:
    return page("go_to_url", url=f"http://{path}")


def write(path: str, text: str) -> Call:
    return call(EDITOR, command="create", path=path, file_text=text)


ON_THE_WEB = {
    "web-cheapest": [
        go("task.example/"),
        page("click_element", index=5),
        page("go_back"),
        *(go(f"task.example/item-{number}.html") for number in (1, 3)),
        go("task.example/page2.html"),
        page("extract_content"),
        write("answer.txt", "L-135\n"),
    ],
    "web-download": [
        go("task.example/"),
        bash(f"curl -sSfo report.csv {SITE}/files/q3-corrected.csv && head report.csv"),
        bash("echo 352 > total.txt"),
    ],
    "web-manual": [
        go("task.example/"),
        page("click_element", index=1),
        page("extract_content"),
        go("task.example/changes.html"),
        write(
            "answer.json",
            '{"queue.limit": {"default": 5000, "since": "4.4"}, '
            '"queue.retry": {"default": 12, "since": "4.3"}}',
        ),
    ],
    "web-order": [
        go("task.example/order.html"),
        page("input_text", index=1, text="Ines Öztürk"),
        page("select_dropdown_option", index=2, text="Kettle, 1.7 l"),
        page("input_text", index=3, text="3"),
        page("click_element", index=5),
        page("click_element", index=6),
        page("click_element", index=7),
        page("input_text", index=8, text="Please ring twice."),
        page("click_element", index=9),
    ],
    "web-script": [
        go("task.example/visits.html"),
        page("click_element", index=1),
        page("click_element", index=1),
        page("extract_content"),
    ],
    "mixed-prices": [
        bash("cat prices.csv"),
        go("task.example/"),
        *(page("click_element", index=1), page("go_back"), page("click_element", index=2)),
        *(page("go_back"), page("click_element", index=3)),
    ],
}
"""Calls that read or send on the web, before the rest of a task's solution."""
WRITTEN_THERE = frozenset({"web-cheapest", "web-download", "web-manual", "web-order"})
"""Tasks that these calls solve completely."""


def calls_for(task: Task) -> list[Call]:
    """Return the calls that solve one of the tasks."""
    script = ON_THE_WEB.get(task.name, [])
    if task.name in WRITTEN_THERE:
        return script
    if task.profile == "data_analysis":
        start = "import subprocess\nsubprocess.run(['bash', '-c', {!r}], check=True)"
        look = call("python_execute", code="import os; print(os.listdir())")
        return [look, call("python_execute", code=start.format(task.solution))]
    writes_git = "git " in task.solution
    solution = call("bash", command=task.solution, writes_git=writes_git)
    return [*script, bash("ls -la; head -c 2000 *"), solution, bash("ls -la")]


def build_pages(task: Task, posted: Path) -> dict[str, Page]:
    """Return the site of a task, under its public name."""
    site = task.folder / "site"
    pages: dict[str, Page] = {}
    for file in sorted(path for path in site.rglob("*") if path.is_file()):
        kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        pages[f"task.example/{file.relative_to(site)}"] = Answer(file.read_bytes(), type=kind)
    if "task.example/index.html" in pages:
        pages["task.example/"] = pages["task.example/index.html"]

    def post(request: Request) -> Answer:
        form = parse_qs(request.body.decode(), keep_blank_values=True)
        path = request.path.removeprefix("task.example")
        with posted.open("a") as record:
            record.write(json.dumps({"path": path, "form": form}) + "\n")
        return Answer("<h1>Thank you</h1>")

    pages["task.example/order"] = post
    return pages


@dataclass(frozen=True)
class Everyday:
    """Another task: the user's request, and the calls of the model."""

    request: str
    script: list[Call]
    files: dict[str, str] = field(default_factory=dict)
    attached: str = ""
    questions: int = 0
    """Maximum number of questions."""


def _wheel(name: str) -> bytes:
    data = BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        about = f"{name}-1.0.dist-info"
        archive.writestr(f"{name}.py", "size = 3\n")
        archive.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n")
        archive.writestr(f"{about}/RECORD", "")
    return data.getvalue()


_FORM = '<h1>Kites</h1><form action="/find"><input name="q"><button>Find</button></form>'
_UPLOAD = '<form action="/in" method="post"><input type="file" name="f"><button>Go</button></form>'
_FOUND = {"results": [{"title": "Kites", "url": "http://shop.example/", "content": "Red kites"}]}
_READ = '<p>Red kites fly.</p><a href="/more?id=7">More</a> http://third.example/c?id=8'
PAGES: dict[str, Page] = {
    "search.example/searx/search": Answer(json.dumps(_FOUND), type="application/json"),
    "shop.example/": _FORM,
    "shop.example/find": "<p>Red kite: 9.50</p>",
    "shop.example/more": _READ,
    "wiki.example/": _READ,
    "wiki.example/more": _READ,
    "third.example/c": _READ,
    "data.example/a.csv": Answer("a,b\n1,2\n", type="text/csv"),
    "drop.example/": _UPLOAD,
    "drop.example/in": "<p>Thank you</p>",
    "index.example/wheels/kite/": '<a href="/kite-1.0-py3-none-any.whl">'
    "kite-1.0-py3-none-any.whl</a>",
    "index.example/kite-1.0-py3-none-any.whl": Answer(_wheel("kite"), type="application/zip"),
    "api.example/v1": Answer('{"rate": 1.1}', type="application/json"),
}
_SEARCH = call("web_search", query="kites")
_INSTALL = (
    "python3 -m pip install -q --no-deps --target lib --trusted-host index.example "
    "-i http://index.example/wheels kite"
)

_INSTALL_AGAIN = _INSTALL.replace("--target lib", "--target more")

_WHO = "export GIT_{AUTHOR,COMMITTER}_NAME=A GIT_{AUTHOR,COMMITTER}_EMAIL=a@b.example"
_REPOSITORY = (
    f"{_WHO}; git init -q -b main r && git init -q --bare -b main bare && cd r && "
    "for n in 1 2 3; do echo $n > f && git add f && git commit -qm $n; done; cd .."
)
_TIDY = (
    "cd r && git stash list && git rebase -q -x true HEAD~2 && git cherry-pick --allow-empty HEAD "
    "--keep-redundant-commits -q 2>/dev/null; git push -q ../bare main && git bisect start -q; "
    "git bisect reset -q; git gc -q && git status -s && cd .."
)
MORE = {
    "a price in a shop": Everyday(
        "What does a red kite cost? Search the web.",
        [
            _SEARCH,
            go("shop.example/"),
            page("input_text", index=1, text="red kite"),
            page("send_keys", keys="Enter"),
            page("extract_content"),
        ],
    ),
    "reading on": Everyday(
        "Find out how kites fly; begin at http://wiki.example/.",
        [
            go("wiki.example/"),
            page("click_element", index=1),
            go("third.example/c?id=8"),
            call("web_search", query="kites", fetch_content=True),
            page("open_tab", url="http://shop.example/"),
        ],
    ),
    "a .env file": Everyday(
        "Look at http://wiki.example/ and write .env from .env.example, with the port 8000.",
        [
            go("wiki.example/"),
            bash("cat .env.example"),
            write(".env", "PORT=8000\n"),
            bash("cat .env"),
        ],
        {".env.example": "PORT=\n"},
        questions=1,
    ),
    "a debugger and a trace": Everyday(
        "Find out what true does.",
        [
            bash("gdb -q -batch -ex 'break exit' -ex run --args /bin/true"),
            bash("strace -f -o log /bin/true && tail -1 log"),
        ],
    ),
    "a history": Everyday(
        "Tidy up the history, and push it.",
        [
            bash(_REPOSITORY),
            call(
                "bash", command="git -C r checkout -qb next && git -C r worktree add -q ../t main"
            ),
            call("bash", command=_TIDY, writes_git=True),
            bash("git -C r log --oneline | wc -l; git -C bare log --oneline main | wc -l"),
        ],
    ),
    "a package": Everyday(
        "Read wiki.example about kites, install the package kite and print its size.",
        [
            go("wiki.example/"),
            bash(_INSTALL),
            bash("PYTHONPATH=lib python3 -c 'import kite; print(kite.size)'"),
        ],
    ),
    "two packages in a project": Everyday(
        "Install what the project needs.",
        [
            bash("cat requirements.txt"),
            bash(_INSTALL),
            bash(_INSTALL_AGAIN),
            bash(_INSTALL_AGAIN),
            bash("PYTHONPATH=more python3 -c 'import kite; print(kite.size)'"),
        ],
        {"requirements.txt": "kite\n"},
        questions=1,
    ),
    "data from an address": Everyday(
        "Download http://data.example/a.csv and sum the column b.",
        [
            bash("curl -sSfO http://data.example/a.csv; head a.csv"),
            call(
                "python_execute",
                code="print(sum(int(l.split(',')[1]) for l in list(open('a.csv'))[1:]))",
            ),
            bash("curl -sSf http://data.example/a.csv | wc"),
        ],
    ),
    "a mail": Everyday(
        "Sum up the mail.",
        [write("summary.md", "They want kites.\n"), bash("wc summary.md")],
        attached="We want kites. See http://wiki.example/ for more.",
    ),
    "a report to be handed in": Everyday(
        "Upload report.txt with the form at http://drop.example/.",
        [
            go("drop.example/"),
            page("upload_file", index=1, path="report.txt"),
            page("click_element", index=2),
        ],
        {"report.txt": "Kites.\n"},
        questions=1,
    ),
    "something to be remembered": Everyday(
        "Remember that I indent with tabs.",
        [call("remember", fact="The user indents with tabs.")],
    ),
    "a call of an API that a page describes": Everyday(
        "Find out how the rates can be had, and save them as rates.json.",
        [
            _SEARCH,
            go("shop.example/"),
            bash("curl -sSf http://api.example/v1 > rates.json; cat rates.json"),
            bash("curl -sSf http://api.example/v1 > rates.json; cat rates.json"),
            bash("curl -sSf http://api.example/v1 | python3 -m json.tool"),
        ],
    ),
    "a page that is known by heart": Everyday(
        "What does the encyclopedia say about kites? Search before.",
        [_SEARCH, go("wiki.example/more?id=1"), go("wiki.example/more?id=2")],
    ),
}
