"""`manus ui`: threads as a page for chatting with the agent."""
