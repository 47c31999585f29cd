"""The data of a run: typed states, messages, plans, usage, events, errors."""
