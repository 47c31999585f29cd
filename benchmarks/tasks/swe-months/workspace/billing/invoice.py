"""When invoices are due."""

from billing.dates import add_months


def schedule(start, count):
    """The days on which `count` monthly invoices are due, the first on `start`."""
    day = start
    days = []
    for _ in range(count):
        days.append(day)
        day = add_months(day, 1)
    return days
