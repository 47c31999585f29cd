"""Export a thread as a zip file, and import it on another machine."""
