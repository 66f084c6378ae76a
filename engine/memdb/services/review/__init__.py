"""One queue of all that waits for a person."""
