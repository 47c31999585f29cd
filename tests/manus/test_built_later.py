"""Models that are built when they are used."""

import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import pytest
from pydantic import BaseModel, ConfigDict, ValidationError

from manus.startup import built_when_used


def test_a_model_is_built_by_its_first_use() -> None:
    with built_when_used():

        class Later(BaseModel):
            number: int

        class Told(BaseModel):
            model_config = ConfigDict(defer_build=False)

    assert [one.__pydantic_complete__ for one in (Later, Told)] == [False, True]
    with pytest.raises(ValidationError):
        Later.model_validate({"number": "many"})
    assert Later(number=1).model_dump() == {"number": 1}
    assert Later.__pydantic_complete__


def test_models_after_the_block_are_built_at_once() -> None:
    with pytest.raises(ZeroDivisionError), built_when_used():
        raise ZeroDivisionError

    class Now(BaseModel):
        number: int

    assert Now.__pydantic_complete__
    assert "defer_build" not in BaseModel.model_config


def test_threads_that_use_one_first_at_the_same_time() -> None:
    with built_when_used():

        class Later(BaseModel):
            number: int

    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda number: Later(number=number).number, range(64)))
    assert made == list(range(64))


def test_langsmith_is_whole_once_it_is_used() -> None:
    program = """
        from manus import startup; startup.load()
        from langchain_core.tracers.schemas import Run
        assert not Run.__pydantic_complete__
        run = Run(name="a", run_type="chain")
        child = run.create_child("b", run_type="tool")
        assert (child.name, child.parent_run_id) == ("b", run.id)
        assert Run.__pydantic_complete__
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
