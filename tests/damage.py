"""Damage to files, spread evenly over them: truncations, flipped bits and zeroed sectors."""

from collections.abc import Callable

SECTOR_BYTES = 512
TRUNCATIONS, FLIPS, SECTORS = 160, 300, 100

Change = Callable[[bytearray], None]


def changes(size_bytes: int, times: int = 1) -> list[tuple[str, Change]]:
    """The 560 changes of a file of that size, or a multiple of them, each with its description."""

    def truncated(to: int) -> Change:
        return lambda content: content.__delitem__(slice(to, None))

    def flipped(bit: int) -> Change:
        return lambda content: content.__setitem__(bit // 8, content[bit // 8] ^ 1 << bit % 8)

    def zeroed(sector: int) -> Change:
        start = sector * SECTOR_BYTES
        # The last sector of a file may be incomplete.
        end = min(start + SECTOR_BYTES, size_bytes)
        return lambda content: content.__setitem__(slice(start, end), bytes(end - start))

    def spread(count: int, below: int) -> range:
        return range(below // count // 2, below, max(1, below // count))[:count]

    found = [(f"truncated to {to}", truncated(to)) for to in spread(TRUNCATIONS * times, size_bytes)]
    # A prime distance, so that flipped bits differ in their position within the byte.
    bits = [bit * 7919 % (8 * size_bytes) for bit in range(FLIPS * times)]
    found += [(f"bit {bit} flipped", flipped(bit)) for bit in dict.fromkeys(bits)]
    sectors = -(-size_bytes // SECTOR_BYTES)
    return found + [(f"sector {sector} zeroed", zeroed(sector)) for sector in spread(SECTORS * times, sectors)]
