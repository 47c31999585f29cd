import sys
from datetime import date

sys.path.insert(0, ".")
from billing.dates import add_months
from billing.invoice import schedule

for day, months, expected in [
    (date(2025, 1, 31), 1, date(2025, 2, 28)),
    (date(2024, 1, 31), 1, date(2024, 2, 29)),
    (date(2025, 12, 15), 1, date(2026, 1, 15)),
    (date(2025, 11, 30), 3, date(2026, 2, 28)),
    (date(2025, 3, 31), -1, date(2025, 2, 28)),
    (date(2025, 1, 10), -1, date(2024, 12, 10)),
    (date(2025, 1, 10), -13, date(2023, 12, 10)),
    (date(2025, 5, 5), 0, date(2025, 5, 5)),
    (date(2025, 1, 30), 24, date(2027, 1, 30)),
]:
    if (result := add_months(day, months)) != expected:
        sys.exit(f"add_months({day}, {months}) is {result}, not {expected}")
expected = [date(2025, 1, 31), date(2025, 2, 28), date(2025, 3, 31), date(2025, 4, 30)]
if list(schedule(date(2025, 1, 31), 4)) != expected:
    sys.exit("the schedule drifts")
