"""Move a store in and out: import, export, backup, restore."""
