"""The number of transfers of a launch: as many as take some milliseconds, by the launches before it."""

TARGET_NS = 20e6
"""Target duration of a launch, between 5 and 100 ms: long enough to hide its start, short enough to stop."""
_FIRST_NS = 6e6
_GROWTH_MOST = 4.0


class Pace:
    """The length of the next launch of a test."""

    def __init__(self, expected_ns: float) -> None:
        """`expected_ns` is the least expected time of a transfer."""
        self._transfer_ns = expected_ns
        self._launch_ns = _FIRST_NS

    def next_count(self, most: int, granule: int = 1) -> int:
        """Transfers of the next launch: at most `most`, a multiple of `granule` if that many are left."""
        count = int(min(max(self._launch_ns / self._transfer_ns, 1.0), most))
        return count - count % granule if count > granule else min(granule, most)

    def took(self, count: int, elapsed_ns: float) -> None:
        """Record the duration of a launch."""
        self._launch_ns = min(TARGET_NS, self._launch_ns * _GROWTH_MOST)
        if count > 0 and elapsed_ns > 0:
            self._transfer_ns = elapsed_ns / count
