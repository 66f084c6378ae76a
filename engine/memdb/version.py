"""The version of memdb, where every floor may read it."""

__version__ = "0.1.0"
