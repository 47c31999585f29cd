"""The browser tool: a real Chromium that the model can see and act on."""

NEEDS = ("The browser needs", "playwright", "pip install --upgrade playwright")
"""Arguments of `import_optional` after the module."""
