"""`manus ui`: threads as a page in which one also talks to the agent."""
