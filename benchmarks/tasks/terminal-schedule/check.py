import sys
from pathlib import Path

EXPECTED = """\
job,first,count
sync-orders,2026-03-02 08:00,12540
close-month,2026-03-01 02:30,14
leap-audit,2028-02-29 00:00,0
unlucky-report,2026-03-06 04:05,68
rotate-logs,2026-02-28 00:00,1600
month-end-probe,2026-02-28 23:59,46
quarter-reminder,2026-03-02 09:10,46
weekly-mail,2026-03-01 12:00,57
never,never,0
sunday-backup,2026-03-01 23:45,57
"""
if not Path("next.csv").is_file():
    sys.exit("next.csv does not exist")
rows = Path("next.csv").read_text().split("\n")
for row, expected in zip(rows, EXPECTED.split("\n"), strict=False):
    if row.strip() != expected:
        sys.exit(f"a row is {row!r}, not {expected!r}")
if [row.strip() for row in rows if row.strip()] != EXPECTED.splitlines():
    sys.exit("the rows are not those of the crontab")
if Path("crontab.txt").read_text() != (Path(__file__).parent / "workspace/crontab.txt").read_text():
    sys.exit("crontab.txt was changed")
