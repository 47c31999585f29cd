"""Rules that import-linter cannot check: module cycles, including imports inside functions."""

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from manus.config import provider_table as table

PACKAGE = Path(__file__).parents[1] / "manus"

LOCAL_IMPORTS = {
    # their modules import fast, because only the chosen command imports more
    "manus.cli": "the command line starts fast",
    "manus.runs": "the command line starts fast",
    "manus.threads.thread_list": "the command line starts fast",
    # lists names that are imported on first use
    "manus": "lazy names of the public API",
    # each import loads a library that most runs do not need
    "manus.threads.records.select": "psycopg, an optional dependency",
    "manus.graph": "only the graph of a thread, and lazy names of the public API",
    "manus.graph.agent": "langchain, an optional dependency, for middleware",
    "manus.models.chat_models": "only the client of the configured provider",
    "manus.nodes.notes": "Playwright, for runs with a browser",
    "manus.threads.open_store": "only the configured database",
    "manus.threads.postgres": "psycopg, an optional dependency",
    "manus.tools.ask_human": "Playwright, for runs with a browser",
    "manus.tools.browser_use": "Playwright, for runs with a browser",
    "manus.tools.chart_worker": "pandas and altair, in a process of their own",
    "manus.tools.mcp.references": "the SDK of MCP, an optional dependency",
    "manus.tools.web_search": "the page reader's packages",
}
"""Functions that import modules of the package, and the reason."""


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
        if name in LOCAL_IMPORTS or name.startswith(("manus.cli.", "manus.runs.", "manus.worker."))
    }
    assert importing - listed == set(), "import at the top, or list the module with its reason"


BROAD_EXCEPTS = {
    # foreign code runs there, and may raise anything
    "manus.calls.invoke.observe_call": "a tool: the model is told",
    "manus.calls.result.is_storable": "serializers and the value itself",
    "manus.calls.user_tools.load_user_tool": "the user's module",
    "manus.calls.user_tools.tool_from_function": "LangChain, for the user's types",
    "manus.calls.wrapped_call.run": "a tool inside of middleware",
    "manus.graph.middleware.structured_output._parse_call": "validators of the user's schema",
    "manus.graph.middleware.structured_output._parse_text": "validators of the user's schema",
    "manus.config.packages.import_optional": "the code of an optional package",
    "manus.models.endpoint_call.ask_endpoint": "each provider's client",
    "manus.models.package_models.from_package": "each provider's client",
    "manus.models.retry.with_retries": "each provider's client",
    "manus.cli.model_check._try_tool_call": "each provider's client",
    "manus.prompts.formulas.render_formula": "latex2mathml, whose errors have no common base",
    "manus.tools.chart_worker.read_table": "pandas' readers",
    # one failure must not end the others
    "manus.calls.session.discard": "closing a resource",
    "manus.models.chat_models._hold_models": "closing a client",
    "manus.graph.outcome.record_failure": "storing why a run failed",
    "manus.nodes.subagent.run_subagent": "an agent in the run of another",
    "manus.pages.ui.active_jobs._work": "a run of the web page",
    # the last resort, or re-raised
    "manus.sandbox.supervisor._run": "a program must get an answer to its system call",
    "manus.cli.entry.execute": "a sentence instead of a traceback",
    "manus.cli.conversation._run_safely": "a sentence, and the conversation goes on",
    "manus.threads.sqlite._run_batch": "raised in the caller, which waits in another thread",
}
"""Functions that catch any exception, and the source. All others name what they expect."""


def broad_excepts(tree: ast.AST, function: str = "") -> set[str]:
    """Return the functions that catch `Exception` and do not re-raise it immediately."""
    functions: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        inner = function
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inner = node.name
        is_handler = isinstance(node, ast.ExceptHandler) and "Exception" in _caught(node.type)
        if is_handler and ast.unparse(node).splitlines()[-1].strip() != "raise":
            functions.add(function)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress"):
            is_broad = any("Exception" in _caught(argument) for argument in node.args)
            functions |= {function} if is_broad else set()
        functions |= broad_excepts(node, inner)
    return functions


def _caught(expression: ast.expr | None) -> set[str]:
    """Return the names of the exceptions in an expression; a bare `except` catches all."""
    if expression is None:
        return {"Exception"}
    names = {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}
    return {name.replace("BaseException", "Exception") for name in names}


def test_only_listed_functions_catch_any_exception() -> None:
    functions = set()
    for name, tree in MODULES.items():
        functions |= {f"{name}.{function}" for function in broad_excepts(tree)}
    assert functions == BROAD_EXCEPTS.keys(), "name the exceptions, or list the reason"


def test_no_two_classes_share_a_name() -> None:
    modules_by_class: dict[str, list[str]] = {}
    for name, tree in MODULES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                modules_by_class.setdefault(node.name.lstrip("_"), []).append(name)
    shared = {name: modules for name, modules in modules_by_class.items() if len(modules) > 1}
    assert shared == {}


NAMES_ELSEWHERE = {
    # other things of the same name
    "manus.cli.settings": {"claude"},  # its folder of skills
    "manus.config.trust": {"claude"},
    "manus.calls.tool_descriptions": {"google"},  # a tool that models invent
    "manus.workspace.protected_names": {"claude", "gemini"},  # folders of other agents
    "manus.tools.browser.engine": {"google"},  # the browser
}
"""Names of providers outside of their table, by module."""
_WORDS = {table.DEFAULT_PROVIDER, "together", "meta"}
"""The protocol of compatible servers, and ordinary words."""


def provider_names() -> set[str]:
    """Return the names in the table of providers: of packages, variables, hosts and models, too."""
    names = {*table.PROVIDERS, *table.ALIASES, *table.SERVERS, *table.PRODUCTS, *table.WINDOWS}
    names |= {client for client, errors in table.CLIENTS.items() if errors}
    for provider in table.PROVIDERS.values():
        names |= {provider.package, provider.model_class, provider.key}
    return {name.lower() for name in names} - {"", *_WORDS}


def list_words(tree: ast.AST) -> str:
    """Return the identifiers and string constants of a module, without its docstrings."""
    texts = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    nodes = [node for node in ast.walk(tree) if id(node) not in texts]
    values = [value for node in nodes for _, value in ast.iter_fields(node)]
    return "\n".join(value for value in values if isinstance(value, str)).lower()


def test_only_the_table_knows_the_names_of_providers() -> None:
    pattern = re.compile(
        rf"(?<![a-z0-9])(?:{'|'.join(sorted(map(re.escape, provider_names()), reverse=True))})"
        r"(?![a-z0-9])"
    )
    own = {provider.import_name for provider in table.PROVIDERS.values() if provider.is_own}
    found = {}
    for name, tree in MODULES.items():
        if name not in {table.__name__, *own}:
            found[name] = {*pattern.findall(list_words(tree))} - NAMES_ELSEWHERE.get(name, set())
    assert {name: names for name, names in found.items() if names} == {}
