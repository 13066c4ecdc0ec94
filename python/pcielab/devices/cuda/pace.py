"""How many transfers a launch is given: as many as take some milliseconds, found from those before it."""

TARGET_NS = 20e6
"""What a launch should take: 5 to 100 ms, so that starting it costs little and a stop is heeded soon."""
_FIRST_NS = 6e6
_GROWTH_MOST = 4.0


class Pace:
    """The length of the next launch of a test."""

    def __init__(self, expected_ns: float) -> None:
        """From what a transfer is expected to take at least, ns."""
        self._transfer_ns = expected_ns
        self._launch_ns = _FIRST_NS

    def next_count(self, most: int, granule: int = 1) -> int:
        """Transfers of the next launch: `most` or fewer, a multiple of `granule` where that many are left."""
        count = int(min(max(self._launch_ns / self._transfer_ns, 1.0), most))
        return count - count % granule if count > granule else min(granule, most)

    def took(self, count: int, elapsed_ns: float) -> None:
        """Takes over how long a launch was."""
        self._launch_ns = min(TARGET_NS, self._launch_ns * _GROWTH_MOST)
        if count > 0 and elapsed_ns > 0:
            self._transfer_ns = elapsed_ns / count
