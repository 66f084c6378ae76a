"""filelock's own lock by the bare calls of the system: where the file is free they take a twentieth of the time."""

from __future__ import annotations

import os
import sys

if sys.platform == "win32":

    def taken_at_once(_path: str) -> int | None:
        return None

    def let_go(_descriptor: int) -> None: ...

else:
    import fcntl

    def taken_at_once(path: str) -> int | None:
        """The descriptor of a lock file that is there and was free, else None: then filelock makes it, or waits.

        Raises nothing; whoever gets one gives it to `let_go`.
        """
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW)
        except OSError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(descriptor).st_nlink:  # else it was deleted meanwhile, and others lock another one
                return descriptor
        except OSError:
            pass
        os.close(descriptor)
        return None

    def let_go(descriptor: int) -> None:
        """Unlock the file of a descriptor, and close it."""
        # A process that was forked meanwhile has the descriptor too: to close ours would not let go.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)
