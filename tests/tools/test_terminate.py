"""`terminate`: the model says that the run is over."""

from __future__ import annotations

import pytest

from manus.tools.catalog import Catalog
from manus.tools.session import Session
from manus.tools.terminate import Terminate


@pytest.mark.parametrize("status", ["success", "failure"])
async def test_it_says_how_the_run_ends(session: Session, status: str) -> None:
    observation = await Catalog([Terminate(session=session)]).execute(
        "terminate", {"status": status}
    )
    assert (observation.text, observation.is_error) == (f"The run ends with {status}.", False)


@pytest.mark.parametrize("args", [{}, {"status": "done"}, {"status": None}])
async def test_another_status_does_not_end_it(session: Session, args: dict[str, str]) -> None:
    observation = await Catalog([Terminate(session=session)]).execute("terminate", args)
    assert observation.is_error
    assert 'it must be one of "success", "failure"' in observation.text or (
        '`status` must be one of "success", "failure", not ' in observation.text
    )


def test_it_may_end_the_run_and_has_no_effect_beside(session: Session) -> None:
    tool = Terminate(session=session)
    assert tool.resources({"status": "success"}) == frozenset()
    assert tool.read_only({"status": "success"})
