import sys

sys.path.insert(0, ".")
from net.retry import retry


def run(fail, times=3, error=OSError, **options):
    calls, slept = [], []

    @retry(times=times, wait=0.5, sleep=slept.append, **options)
    def work(a, b=2):
        "Works."
        calls.append((a, b))
        if len(calls) <= fail:
            raise error(f"number {len(calls)}")
        return a + b

    try:
        result = work(1, b=4)
    except Exception as raised:
        result = f"{type(raised).__name__}: {raised}"
    return result, len(calls), slept, work.__name__, work.__doc__


for outcome, expected in [
    (run(0), (5, 1, [], "work", "Works.")),
    (run(2), (5, 3, [0.5, 0.5], "work", "Works.")),
    (run(9), ("OSError: number 3", 3, [0.5, 0.5], "work", "Works.")),
    (run(9, times=1), ("OSError: number 1", 1, [], "work", "Works.")),
    (run(1, error=ValueError), ("ValueError: number 1", 1, [], "work", "Works.")),
    (run(1, error=KeyError, errors=(KeyError,)), (5, 2, [0.5], "work", "Works.")),
]:
    if outcome != expected:
        sys.exit(f"{outcome}, not {expected}")
