"""Web access without a browser: excerpts, page reader, parser."""
