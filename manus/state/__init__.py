"""What travels: typed states, the run configuration, the profile, the errors."""
