"""What import-linter does not see: cycles of modules, also through imports inside functions."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "manus"

LOCAL_IMPORTS = {
    # their modules start in a fifth of a second, because only the chosen command imports more
    "manus.cli": "the command line starts fast",
    "manus.runs": "the command line starts fast",
    "manus.store.threads": "the command line starts fast",
    # lists names that are imported when they are first used
    "manus": "lazy names of the public API",
    "manus.graph": "lazy names of the public API",
    # each import loads a library that most runs do not need
    "manus.execution.records.select": "psycopg, an optional dependency",
    "manus.models.chat_models": "only the client of the configured provider",
    "manus.nodes.exchange.notes": "Playwright, for runs with a browser",
    "manus.store.open_store": "only the configured database",
    "manus.store.postgres": "psycopg, an optional dependency",
    "manus.tools.browser_use": "Playwright, for runs with a browser",
    "manus.tools.chart.worker": "pandas and altair, in a process of their own",
    "manus.tools.web_search": "the page reader's packages",
}
"""Where functions import modules of the package, and why."""


def get_module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {
    get_module_name(path): ast.parse(path.read_text("utf-8")) for path in PACKAGE.rglob("*.py")
}


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def imported_by(tree: ast.AST, *, only_local: bool = False) -> set[str]:
    """Return the package's modules that a module imports when it runs."""
    modules: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        if is_for_types(node):
            continue
        if isinstance(node, ast.ImportFrom) and not only_local:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            modules |= {name if name in MODULES else str(node.module) for name in names}
        elif isinstance(node, ast.Import) and not only_local:
            modules |= {alias.name for alias in node.names}
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        modules |= imported_by(node, only_local=only_local and not is_function)
    return modules & MODULES.keys()


def test_no_modules_import_each_other() -> None:
    graph = {name: imported_by(tree) - {name} for name, tree in MODULES.items()}
    cycle: list[str] = []
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle = error.args[1]
    assert cycle == []


def test_functions_import_only_where_that_is_listed() -> None:
    importing = {name for name, tree in MODULES.items() if imported_by(tree, only_local=True)}
    listed = {
        name
        for name in importing
        if name in LOCAL_IMPORTS or name.startswith(("manus.cli.", "manus.runs."))
    }
    assert importing - listed == set(), "import at the top, or list the module with its reason"
