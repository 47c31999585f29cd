from collections.abc import Iterator

import pytest

from tests.manus.tracing.receivers import Collector, LangSmith


@pytest.fixture
def collector() -> Iterator[Collector]:
    """A server that takes spans."""
    collector = Collector()
    yield collector
    collector.close()


@pytest.fixture
def langsmith() -> Iterator[LangSmith]:
    """A server that takes runs as LangSmith does."""
    server = LangSmith()
    yield server
    server.close()
