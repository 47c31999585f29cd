"""For those who come from OpenManus: its configuration read, and written as ours."""
