"""Model calls, independent of runs, tools and graphs."""
