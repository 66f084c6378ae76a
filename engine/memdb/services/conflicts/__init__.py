"""What contradicts what, and how it was settled."""
