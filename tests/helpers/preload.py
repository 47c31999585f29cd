"""Import and build once what each process of the program needs first, before all forks."""

import gc
import importlib
import pkgutil
import tempfile
from pathlib import Path

import manus.cli
import manus.runs
from manus.calls.catalog import build_catalog
from manus.graph import build_agent, build_flow
from manus.graph.profiles import PROFILES
from manus.models.tls import ssl_context
from tests.helpers.sessions import session_in

MODULES = (
    "anyio._backends._asyncio",
    "h11",
    "httpcore2",
    "jiter",
    "langchain_openai",
    "manus.threads.snapshots.restore",
    "manus.models.openai_chat",
    "manus.pages.report.page",
    "manus.pages.trace.formats",
    "manus.pages.ui",
    "manus.threads.postgres_store",
    "manus.threads.sqlite",
    "manus.threads.thread_list",
    "markdown_it",
    "openai.lib.streaming.chat",
    "openai.resources.chat.completions",
    "platformdirs",
    "playwright.sync_api",
    "procrastinate.worker",
    "psycopg_pool",
    "rich.console",
)


def load() -> None:
    """Import modules and fill caches; the objects built here are not used."""
    for package in (manus.cli, manus.runs):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    for name in MODULES:
        importlib.import_module(name)
    ssl_context()
    build_agent()
    build_flow()
    with tempfile.TemporaryDirectory() as folder:
        session = session_in(Path(folder))
        for profile in PROFILES.values():
            tools = build_catalog(profile.tools, session)
            for tool in tools:
                tools.build_schema(tool)


load()
tempfile.tempdir = None  # each process has its own TMPDIR
# the garbage collector would write to all of it, and so copy it, in each process
gc.collect()
gc.freeze()
