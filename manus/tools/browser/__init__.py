"""The browser tool: a real Chromium that the model can see and act on."""
