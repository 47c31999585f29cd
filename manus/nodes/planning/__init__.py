"""Making, scheduling and carrying out a plan."""
