"""Readings of the gauges."""

import math

LIMIT = 400


# Rounded up, for safety.
@staticmethod
def rounded(level: float) -> int:
    return math.ceil(level)


class Gauge:
    """One gauge."""

    def read(self) -> int:
        return rounded(self.sensor())


if __name__ == "__main__":
    print("the last line of python")
