"""Pages of MiniWoB++, solved with what the tool shows and offers.

`python -m benchmarks.miniwob` runs the whole set.
"""

from collections.abc import Iterator

import pytest

from benchmarks.miniwob.episode import play
from benchmarks.miniwob.pages import PagesMissingError, find_pages, serve
from benchmarks.miniwob.solvers import SOLVERS
from benchmarks.miniwob.solvers.unsolved import UNSOLVED
from tests.browser.driver import Driver

PAGES = (
    pytest.param("book-flight", marks=pytest.mark.exhaustive),  # much longer than the others
    "choose-date-easy",
    "click-checkboxes",
    "email-inbox-delete",
    "enter-time",
    "guess-number",
    "login-user-popup",
    "multi-layouts",
    "phone-book",
    "read-table-2",
    "use-slider",
)
"""A few pages of different kinds."""


@pytest.fixture(scope="module")
def pages() -> Iterator[str]:
    """Return the address of the pages of the installed package."""
    try:
        folder = find_pages()
    except PagesMissingError as error:
        pytest.skip(str(error))
    with serve(folder) as base:
        yield base


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.sample(every=3)
@pytest.mark.parametrize("page", PAGES)
async def test_a_page_is_solved_with_observations_and_actions_only(
    page: str, pages: str, driver: Driver
) -> None:
    episode = await play(driver.session, pages, page, seed=3)
    assert episode.failure == "", "\n".join(episode.log)


def test_every_page_of_the_package_has_a_solver_or_a_reason() -> None:
    try:
        folder = find_pages() / "miniwob"
    except PagesMissingError as error:
        pytest.skip(str(error))
    assert {*SOLVERS, *UNSOLVED} == {file.stem for file in folder.glob("*.html")}
