import sys

sys.path.insert(0, ".")
from cache import Cache

cache = Cache(2)
cache.put("a", 1)
cache.put("b", 2)
cache.get("a")
cache.put("c", 3)
if (cache.get("a"), cache.get("b"), cache.get("c")) != (1, None, 3):
    sys.exit("a read entry was dropped, or an old one kept")
cache = Cache(2)
cache.put("a", 1)
cache.put("b", 2)
cache.put("b", 9)
if len(cache) != 2 or (cache.get("a"), cache.get("b")) != (1, 9):
    sys.exit("replacing a value dropped an entry")
cache = Cache(2)
cache.put("a", 1)
cache.put("b", 2)
cache.put("a", 9)
cache.put("c", 3)
if (cache.get("a"), cache.get("b")) != (9, None):
    sys.exit("a write does not count as use")
cache = Cache(2)
for name in "abc":
    cache.put(name, name)
if (cache.get("a"), cache.get("b")) != (None, "b"):
    sys.exit("without reads, the dropped entry is not the oldest")
cache = Cache(1)
cache.put("n", None)
if cache.get("n", 5) is not None or cache.get("x", 5) != 5:
    sys.exit("None as a value, or the default, is wrong")
