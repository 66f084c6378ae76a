"""A warm process for hooks and commands: its server, what a hook asks it, and whom it answers."""
