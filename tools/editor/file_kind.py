"""What a file that is no text is, told from its first bytes."""

from __future__ import annotations

import mimetypes

_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_KINDS = (
    (b"%PDF-", "PDF document"),
    (b"SQLite format 3\0", "SQLite database"),
    (b"\x7fELF", "ELF program"),
    (b"MZ", "Windows program"),
    (b"\xcf\xfa\xed\xfe", "Mach-O program"),
    (b"\xca\xfe\xba\xbe", "Java class or universal program"),
    (b"\0asm", "WebAssembly module"),
    (b"PK\x03\x04", "ZIP archive"),
    (b"\x1f\x8b", "gzip archive"),
    (b"BZh", "bzip2 archive"),
    (b"\xfd7zXZ\0", "xz archive"),
    (b"\x28\xb5\x2f\xfd", "Zstandard archive"),
    (b"7z\xbc\xaf\x27\x1c", "7z archive"),
    (b"PAR1", "Parquet table"),
    (b"\x93NUMPY", "NumPy array"),
    (b"OggS", "Ogg media"),
    (b"ID3", "MP3 sound"),
    (b"fLaC", "FLAC sound"),
    (b"II*\0", "TIFF image"),
    (b"MM\0*", "TIFF image"),
    (b"BM", "BMP image"),
)
# Kinds that are a ZIP archive inside, by the file's name.
_ZIPPED = {
    ".docx": "Word document",
    ".xlsx": "Excel workbook",
    ".pptx": "PowerPoint presentation",
    ".odt": "OpenDocument text",
    ".ods": "OpenDocument spreadsheet",
    ".epub": "EPUB book",
    ".jar": "Java archive",
    ".whl": "Python wheel",
}


def image_type(data: bytes) -> str | None:
    """The media type of a picture that models can be shown: png, jpeg, gif or webp; else None."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _IMAGES if data.startswith(start)), None)


def is_pdf(data: bytes) -> bool:
    """Whether it is a PDF document, which may look like text at its beginning."""
    return data.startswith(b"%PDF-")


def kind_of(data: bytes, name: str) -> str:
    """What the bytes of a file that is no text are, in words."""
    suffix = "." + name.rpartition(".")[2].lower()
    kind = next((kind for start, kind in _KINDS if data.startswith(start)), None)
    if kind == "ZIP archive":
        return _ZIPPED.get(suffix, kind)
    return kind or mimetypes.guess_type(name)[0] or "unknown type"
