"""A check that our code never blocks the event loop."""

from collections.abc import Iterator
from contextlib import contextmanager

from blockbuster import blockbuster_ctx


@contextmanager
def nothing_blocks() -> Iterator[None]:
    """Raise on blocking calls that the package makes on an event loop within the block."""
    with blockbuster_ctx(scanned_modules=["manus"]) as guard:
        guard.functions["os.stat"].deactivate()  # as configured by the LangGraph server
        # must not be cancelled between the removal of the file and the release of the lock
        guard.functions["os.unlink"].can_block_in("manus/threads/thread_lock.py", {"hold_file"})
        yield
