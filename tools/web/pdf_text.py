"""The text of a PDF, page by page."""

from __future__ import annotations

import io
import logging

MAX_PAGES = 300


def pdf_pages(data: bytes, limit: int = MAX_PAGES) -> tuple[list[str], int]:
    """The text of the first pages of a PDF, and how many pages it has. Blocking.

    Raises:
        ValueError: it is not a PDF that can be read, or it asks for a password.
    """
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    logging.getLogger("pypdf").setLevel(logging.ERROR)
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise ValueError("the PDF asks for a password")
        count = len(reader.pages)
        texts = [reader.pages[index].extract_text() for index in range(min(count, limit))]
    except (PyPdfError, KeyError, TypeError, IndexError, RecursionError, OSError) as error:
        raise ValueError(f"the PDF cannot be read ({type(error).__name__})") from None
    return [text.strip() for text in texts], count


def pdf_markdown(pages: list[str], count: int) -> str:
    """The pages under a heading each."""
    parts = [f"## Page {number}\n\n{text}" for number, text in enumerate(pages, 1) if text]
    if not parts:
        return f"(The PDF has {count} pages without text: they are pictures.)"
    if count > len(pages):
        parts.append(f"({count - len(pages)} more pages were not read.)")
    return "\n\n".join(parts)
