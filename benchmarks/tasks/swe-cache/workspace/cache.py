"""A cache of a fixed size."""

from collections import OrderedDict


class Cache:
    """Drops the entry that was used least recently."""

    def __init__(self, size):
        self.size = size
        self._items = OrderedDict()

    def get(self, key, default=None):
        return self._items.get(key, default)

    def put(self, key, value):
        if len(self._items) >= self.size:
            self._items.popitem(last=False)
        self._items[key] = value

    def __len__(self):
        return len(self._items)
