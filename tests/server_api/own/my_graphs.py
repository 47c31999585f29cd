"""A graph of the user's own, as `langgraph.json` names it."""

from manus.graph import build_agent

glossary = build_agent("glossary")
