"""The `memdb` command: parse, call the engine, print."""
