"""Bounds for buffers partly below 4 GiB: a TLP's header holds 32 or 64 bits of address, as its address needs.

A transfer takes the mean time of both lengths, weighted by their shares of the buffer; the compiled half does the
same for a whole system, transfer by transfer.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from pcielab.library.link import Link
from pcielab.model.answers import Answer, Ceiling

_FOUR_GIB = 1 << 32


def low_share(addresses: Sequence[int], piece_bytes: int, window_bytes: int | None = None) -> float:
    """The share of a buffer below 4 GiB; 0 if no address is known.

    Args:
        addresses: Addresses of the buffer's contiguous pieces, in order.
        piece_bytes: Size of each piece.
        window_bytes: Bytes to count from the start of the buffer; absent: all.
    """
    if piece_bytes < 1:
        # A store's buffer may have fewer bytes than pieces.
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
    """Answers for a link that carries addresses of both lengths.

    Args:
        link: The link; its `address_bits` are ignored.
        low: The share of transfers with addresses below 4 GiB.
        ask: Asks the model about a link with one length of addresses.
    """
    shares = [(bits, share) for bits, share in ((32, low), (64, 1 - low)) if share > 0]
    answers = [ask(replace(link, address_bits=bits)) for bits, _ in shares]
    return [_weighed([share for _, share in shares], alike) for alike in zip(*answers, strict=True)]


def _weighed(shares: Sequence[float], answers: Sequence[Answer]) -> Answer:
    """One answer, with the mean time of a transfer for each bound."""
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
