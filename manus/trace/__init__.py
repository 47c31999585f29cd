"""One trace of a run: its steps, calls, questions and costs, read from the checkpoints.

`manus show`, `report` and `watch`, the notebooks and `compare` all read runs in this form.
"""
