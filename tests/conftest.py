"""Shared fixtures: the scripted model server, an agent that uses it, and isolation."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from tests.helpers.exhaustive import is_exhaustive
from tests.helpers.sandboxes import KINDS, VARIABLE, Kind, default_kind, find_fault, require_sandbox

pytest_plugins = [
    "tests.helpers.fixtures",
    "tests.helpers.cli_fixtures",
    "tests.helpers.model_fixtures",
    "tests.helpers.tool_fixtures",
]

# The developer's keys, addresses and switches must not influence the results.
_OUTSIDE = re.compile(
    r"(OPENAI|MANUS|AZURE|ANTHROPIC|GOOGLE|GEMINI|AWS|TAVILY|BRAVE|LANGSMITH|LANGCHAIN|LANGGRAPH|OTEL)_.*"
    r"|(HTTPS?|ALL|NO)_PROXY",
    re.IGNORECASE,
)


# The time to run or generate an example depends on the machine rather than on the code; and the
# same code passes or fails the same examples, here and elsewhere.
hypothesis.settings.register_profile(
    "tests",
    deadline=None,
    max_examples=40,
    derandomize=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("tests")


def pytest_report_header() -> list[str]:
    """Report which sandboxes the tests run with."""
    return [f"sandbox {kind}: {find_fault(kind) or 'works'}" for kind in KINDS if kind != "none"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--all-sandboxes",
        action="store_true",
        help="fail, and do not skip, where a sandbox does not work on this machine",
    )
    parser.addoption(
        "--exhaustive",
        action="store_true",
        help="run every row of the long tables, each with every sandbox",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test marked `sandboxes` once for each sandbox that the mark names, or for all."""
    if mark := metafunc.definition.get_closest_marker("sandboxes"):
        metafunc.parametrize("sandbox_kind", mark.args or KINDS, indirect=True)


@pytest.fixture(autouse=True)
def sandbox_kind(
    request: pytest.FixtureRequest, scrubbed_environment: None, monkeypatch: pytest.MonkeyPatch
) -> Kind:
    """Return the sandbox that a test runs with."""
    requested: Kind | None = getattr(request, "param", None)
    kind = requested or default_kind()
    require_sandbox(kind, request.config)
    if kind == "none" and request.node.get_closest_marker("sandboxed"):
        require_sandbox("bubblewrap", request.config)
    if requested or kind == "none":  # otherwise the default, as for a user without settings
        monkeypatch.setenv(VARIABLE, kind)
    return kind


@pytest.fixture(autouse=True)
def scrubbed_environment(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Remove all settings but those of the mark `environ`; give each test its own data folder."""
    scrub(monkeypatch, tmp_path.with_name(f"{tmp_path.name}-own"))
    for mark in reversed([*request.node.iter_markers("environ")]):  # the closest mark last
        for name, value in mark.kwargs.items():
            monkeypatch.setenv(name, value)


@pytest.fixture(autouse=True, scope="session")
def scrubbed_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Do the same for session fixtures, which are created before the first test."""
    with pytest.MonkeyPatch.context() as patch:
        scrub(patch, tmp_path_factory.mktemp("shared-home"))
        if default_kind() == "none":
            patch.setenv(VARIABLE, "none")
        yield


def scrub(patch: pytest.MonkeyPatch, folder: Path) -> None:
    for name in filter(_OUTSIDE.fullmatch, list(os.environ)):
        patch.delenv(name)
    # a server that has recovered is always waited for; tests of one that has not shorten this
    patch.setenv("MANUS_RETRY_FOR", "60")
    patch.setattr("manus.models.retry.FIRST_WAIT", 0.05)
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        patch.setenv(name, str(folder / "home" / name.lower()))
    patch.setenv("MANUS_TRUST", "1")


def pytest_xdist_auto_num_workers() -> int:
    """Use one more process than cores: some always wait for a program or a server."""
    return len(os.sched_getaffinity(0)) + 1


# The slowest files start first, so that no process is left alone with one at the end.
_LONGEST = (
    *("test_ordinary_user.py", "test_carriers.py", "test_everyday.py", "test_git.py"),
    *("test_injection.py", "test_docs.py"),
    *("test_escape.py", "test_tasks.py", "test_lines.py", "test_notebooks.py", "test_ui.py"),
    *("test_report.py", "test_setup.py", "test_changes.py", "test_langgraph_dev.py"),
    *("test_waiting_threads.py", "test_work_inside.py", "test_takeover.py", "test_queue.py"),
    *("test_postgres.py", "test_serve.py", "test_miniwob.py", "test_reading.py"),
    *("test_transfer.py", "test_sessions.py", "test_lifecycle.py", "test_user_tools.py"),
    *("test_data_visualization.py", "test_long_fields.py", "test_rewind.py", "test_releases.py"),
    *("test_files.py", "test_conversation.py", "test_folder_trust.py", "test_sandbox.py"),
    *("test_hard_pages.py", "test_wheel.py", "test_client.py", "test_supervisor.py"),
    *("test_store.py", "test_bash.py"),
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order the files, and deselect tests that only run with `--exhaustive`.

    With `--no-loadscope-reorder` the files are distributed in this order.
    """
    order = {name: number for number, name in enumerate(_LONGEST)}
    items.sort(key=lambda item: order.get(item.path.name, len(order)))
    if config.getoption("exhaustive"):
        return
    left_out = [item for item in items if is_exhaustive(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]
