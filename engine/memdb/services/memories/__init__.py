"""Memories as texts: save, read, relate, restate, and their versions."""
