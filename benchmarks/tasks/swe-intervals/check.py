import sys
from pathlib import Path

sys.path.insert(0, ".")
from spans import merge

original = Path(__file__).parent / "workspace" / "test_spans.py"
if Path("test_spans.py").read_text() != original.read_text():
    sys.exit("test_spans.py was changed")
for spans, expected in [
    ([], []),
    ([(1, 3), (3, 5)], [(1, 5)]),
    ([(8, 9), (1, 4), (2, 3)], [(1, 4), (8, 9)]),
    ([(1, 10), (2, 3), (9, 12)], [(1, 12)]),
    ([(5, 6), (1, 2)], [(1, 2), (5, 6)]),
]:
    before = list(spans)
    result = merge(spans)
    if result != expected:
        sys.exit(f"merge({before}) is {result}, not {expected}")
    if spans != before:
        sys.exit("the input list was changed")
