from collections.abc import Iterator

import pytest

from tests.safety.internet import Internet


@pytest.fixture
def internet() -> Iterator[Internet]:
    made = Internet()
    yield made
    made.close()
