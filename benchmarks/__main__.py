"""`python -m benchmarks`: the cost of a step."""

from benchmarks.step_cost import main

main()
