"""The web without a browser: excerpts, page reader, parser."""
