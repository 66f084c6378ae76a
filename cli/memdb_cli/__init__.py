"""The `memdb` command."""
