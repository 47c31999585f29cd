"""Print the coverage of each package of `manus`, the least covered first.

Reads the data file that `make coverage` produced.
"""

import sys
from collections import Counter
from pathlib import Path

from coverage import Coverage
from coverage.exceptions import NoDataError, NoSource

ROOT = Path(__file__).resolve().parents[1]


def get_package(file: str) -> str:
    """Return the package of a file: `manus.threads`, or `manus` for a module outside packages."""
    return ".".join(Path(file).relative_to(ROOT).parts[:-1][:2])


def count_statements(coverage: Coverage) -> tuple[Counter[str], Counter[str]]:
    """Return the number of statements, and of executed statements, by package."""
    statements: Counter[str] = Counter()
    executed: Counter[str] = Counter()
    for file in coverage.get_data().measured_files():
        try:
            _, lines, _, missing, _ = coverage.analysis2(file)
        except NoSource:  # a module that a test wrote and deleted
            continue
        statements[get_package(file)] += len(lines)
        executed[get_package(file)] += len(lines) - len(missing)
    return statements, executed


def main() -> int:
    """Print one line for each package and return the exit code."""
    coverage = Coverage()
    try:
        coverage.load()
    except NoDataError as error:
        print(f"{error} Run `make coverage` first.", file=sys.stderr)
        return 1
    statements, executed = count_statements(coverage)
    shares = {name: executed[name] / count for name, count in statements.items() if count}
    for name, share in sorted(shares.items(), key=lambda item: item[1]):
        print(f"{name:<20} {statements[name]:>6} statements  {share:>6.1%} executed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
