"""Create, schedule and execute a plan."""
