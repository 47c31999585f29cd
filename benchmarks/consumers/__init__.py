"""Run the agent in other people's frameworks, each in an environment of its own.

The model is a scripted server on loopback. For each framework: a run with a tool call, a stream, an
interrupt that is answered, and a second request on the thread.
"""
