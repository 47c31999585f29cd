"""One trace of a run: its steps, calls, questions and costs, read from the checkpoints.

`manus show`, `report` and `watch`, and the notebooks all read runs in this form.
"""
