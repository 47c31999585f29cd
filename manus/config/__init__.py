"""Settings and their sections, the context of a run, profiles, trust, secrets."""
