"""Changes of files with a known author, as a write log has them."""

from collections.abc import Collection
from dataclasses import dataclass

from manus.threads.snapshots.objects import Author


@dataclass
class Known:
    """Changes that all have the same author."""

    author: Author
    paths: Collection[str] | None = ()

    def find_author(self, _path: str) -> Author:
        return self.author
