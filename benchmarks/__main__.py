"""`python -m benchmarks`: what a step costs."""

from benchmarks.step_cost import main

main()
