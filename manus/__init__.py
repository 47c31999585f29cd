"""The front door: the command line, where threads are kept, what a run looks like from outside."""

__version__ = "0.1.0"
