"""LangChain's middleware and structured output around the agent graph.

`langchain` is an extra. Nothing here is imported before a middleware or a response format is
passed to `build_agent`.
"""
