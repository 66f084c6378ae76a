"""Faults: what becomes of a store when processes are killed, disks fill up, bytes change and many write at once."""
