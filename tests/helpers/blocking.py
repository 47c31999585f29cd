"""A check that nothing of ours blocks the event loop."""

from collections.abc import Iterator
from contextlib import contextmanager

from blockbuster import blockbuster_ctx


@contextmanager
def nothing_blocks() -> Iterator[None]:
    """Blocking calls that the package makes on an event loop raise in the block."""
    with blockbuster_ctx(scanned_modules=["manus"]) as guard:
        guard.functions["os.stat"].deactivate()  # as the LangGraph server has it
        # not to be cancelled between the removal of the file and the end of the lock
        guard.functions["os.unlink"].can_block_in("manus/store/thread_lock.py", {"hold_file"})
        yield
