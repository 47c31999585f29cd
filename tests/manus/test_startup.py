"""A deferred package: its modules without it, and itself at the first look at a name."""

import importlib
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from manus.startup import defer

INIT = "from apackage_log import SEEN\nSEEN.append(__name__)\nfrom {0} import part\nvalue = 7\n"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package that notes each run of its `__init__`."""
    name = "a_deferred_package"
    (tmp_path / "apackage_log.py").write_text("SEEN = []\n")
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text(INIT.format(name))
    (tmp_path / name / "part.py").write_text("value = 7\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield name
    for loaded in [m for m in sys.modules if m.startswith((name, "apackage_log"))]:
        del sys.modules[loaded]


def runs() -> list[str]:
    seen: list[str] = importlib.import_module("apackage_log").SEEN
    return seen


def test_a_module_of_it_does_not_run_it(package: str) -> None:
    defer(package)
    assert importlib.import_module(f"{package}.part").value == 7
    assert runs() == []


def test_the_first_name_runs_it_once(package: str) -> None:
    defer(package)
    module = importlib.import_module(package)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda _: module.value, range(64))) == [7] * 64
    assert runs() == [package]
    with pytest.raises(AttributeError, match="absent"):
        _ = module.absent


def test_one_inside_another_waits_without_the_outer_one_being_run(
    package: str, tmp_path: Path
) -> None:
    inner = tmp_path / package / "inner"
    inner.mkdir()
    (inner / "__init__.py").write_text(INIT.format(f"{package}.inner"))
    (inner / "part.py").write_text("value = 8\n")
    defer(f"{package}.inner", f"{package}.no_such", "no_such_package_at_all.inner")
    assert package not in sys.modules
    outer = importlib.import_module(package)
    assert importlib.import_module(f"{package}.inner.part").value == 8
    assert runs() == [package]
    assert importlib.import_module(f"{package}.inner").value == 7
    assert runs() == [package, f"{package}.inner"]
    assert outer.value == 7


def test_what_a_run_does_not_use_is_not_imported() -> None:
    code = (
        "import sys; from manus import startup; startup.load(); "
        "from pathlib import Path; from manus.graph.profiles import profile_named; "
        "from manus.tools.catalog import build_catalog; from manus.tools.session import Session; "
        "from manus.tools.workspace import Workspace; "
        "tools = build_catalog(profile_named('manus').tools, Session(Workspace(Path.cwd()))); "
        "assert tools.schemas(); "
        "left = {'httpx', 'langsmith.types.run', 'langchain_openai.embeddings', 'playwright'}; "
        "assert not left & set(sys.modules), left & set(sys.modules); "
        "from langgraph_sdk import get_client; from langchain_openai import OpenAIEmbeddings; "
        "import langsmith.types; langsmith.types.Run; get_client(url='http://127.0.0.1:9'); "
        "print(type(sys.modules['langgraph_sdk']).__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("module\n", "")
