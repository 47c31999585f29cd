import sys
from pathlib import Path

expected = """date,item,price,quantity
2026-01-05,Tür,1234.50,2
2026-12-31,"Schraube, M8",0.05,12000
2026-02-01,"sagt ""ja\""",12.00,
,ohne Datum,7.10,1
2026-03-09,gratis,,3
2026-03-10,Retoure,-45.90,-1
"""
if not Path("clean.csv").is_file():
    sys.exit("clean.csv does not exist")
content = Path("clean.csv").read_bytes()
if content != expected.encode():
    sys.exit(f"clean.csv is {content!r}")
