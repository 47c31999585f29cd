import sys
from pathlib import Path

expected = {
    "2025-01-03_invoice.pdf": "a",
    "2024-12-14_invoice.pdf": "b",
    "2025-02-07_invoice_1.pdf": "c",
    "2025-02-07_invoice_2.pdf": "d",
    "2024-02-29_invoice.pdf": "e",
    "invoice 29.2.2025.pdf": "f",
    "invoice 2025.pdf": "g",
    "2025-11-30_invoice_1.pdf": "h",
    "2025-11-30_invoice_2.pdf": "i",
    "2025-11-30_invoice_3.pdf": "j",
    "letter.pdf": "k",
}
contents = {p.name: p.read_text().strip() for p in Path("scans").iterdir()}
if contents != expected:
    sys.exit(f"the files are {dict(sorted(contents.items()))}")
