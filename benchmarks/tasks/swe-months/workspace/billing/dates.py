"""Dates of invoices."""

from datetime import date


def add_months(day, months):
    """The same day, that many months later."""
    month = day.month + months
    year = day.year
    if month > 12:
        month -= 12
        year += 1
    return date(year, month, day.day)
