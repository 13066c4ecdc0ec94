"""Buffers of which some lies below 4 GiB: each TLP has the header that its own address needs, 32 or 64 bits long.

So a transfer takes on average what the lengths take, weighed by how much of the buffer has which; the compiled
half does the same for a whole system, transfer by transfer.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from pcielab.library.link import Link
from pcielab.model.answers import Answer, Ceiling

_FOUR_GIB = 1 << 32


def low_share(addresses: Sequence[int], piece_bytes: int, window_bytes: int | None = None) -> float:
    """The share of a buffer that lies below 4 GiB; 0 where no address is known.

    Args:
        addresses: Of the contiguous pieces that the buffer is made of, in its order.
        piece_bytes: Size of each.
        window_bytes: Only the first so many bytes count; absent: all.
    """
    if piece_bytes < 1:
        # A store may say that its buffer is shorter than it has pieces.
        return 0.0
    whole = len(addresses) * piece_bytes
    end = whole if window_bytes is None else min(window_bytes, whole)
    low = sum(
        min(piece_bytes, end - start)
        for start, address in zip(range(0, end, piece_bytes), addresses, strict=False)
        if address < _FOUR_GIB
    )
    return low / end if end else 0.0


def with_addresses(link: Link, low: float, ask: Callable[[Link], Sequence[Answer]]) -> list[Answer]:
    """Answers about a link that carries addresses of both lengths.

    Args:
        link: The link; its own length of addresses does not matter.
        low: The share of transfers whose addresses are below 4 GiB.
        ask: What is asked of a link with addresses of one length.
    """
    shares = [(bits, share) for bits, share in ((32, low), (64, 1 - low)) if share > 0]
    answers = [ask(replace(link, address_bits=bits)) for bits, _ in shares]
    return [_weighed([share for _, share in shares], alike) for alike in zip(*answers, strict=True)]


def _weighed(shares: Sequence[float], answers: Sequence[Answer]) -> Answer:
    """One answer, each of whose bounds takes the mean time of a transfer."""
    if len(answers) == 1:
        return answers[0]
    times = [{ceiling.bound: 1 / ceiling.gbps for ceiling in answer.ceilings} for answer in answers]
    means = {
        bound: sum(share * time[bound] for share, time in zip(shares, times, strict=True)) for bound in times[0]
    }
    slowest = max(means.values())
    ceilings = [
        Ceiling(bound=bound, gbps=1 / mean, slack=slowest / mean - 1)
        for bound, mean in sorted(means.items(), key=lambda pair: -pair[1])
    ]
    gbps = ceilings[0].gbps
    return Answer(
        gbps=gbps,
        millions_per_s=answers[0].millions_per_s * gbps / answers[0].gbps,
        bound=ceilings[0].bound,
        ceilings=ceilings,
    )
