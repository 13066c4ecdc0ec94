"""Protocols of a network's line: what each packet and each message add to the payload.

Headers are those of the standards. Ethernet (IEEE 802.3): preamble and start 8 B, header 14, FCS 4, gap 12. IPv4
(RFC 791) 20, TCP (RFC 9293) 20, UDP (RFC 768) 8. InfiniBand (volume 1 of its architecture): LRH 8, GRH 40, BTH 12,
RETH 16, ICRC 4, VCRC 2; RoCE puts BTH and ICRC behind GRH (v1) or IPv4 and UDP (v2). Options, tags of VLANs and
acknowledgements come on top, so that every rate is an upper bound.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pcielab.errors import refusal
from pcielab.library.alike import suggestion
from pcielab.wording import shown

_ETHERNET_BYTES = 8 + 14 + 4 + 12
_IPV4_BYTES, _TCP_BYTES, _UDP_BYTES = 20, 20, 8
_TRANSPORT_BYTES = 12 + 4
_LRH_BYTES, _GRH_BYTES, _VCRC_BYTES = 8, 40, 2
_RETH_BYTES = 16
_RDMA_MTUS = (256, 512, 1024, 2048, 4096)
_LEAST_MTU, _MOST_MTU = 68, 65_535


@dataclass(frozen=True)
class Protocol:
    """A protocol of a line.

    Attributes:
        word: Its word in options.
        title: Its name for people.
        packet_bytes: Bytes of a packet on the line beside its payload.
        message_bytes: Bytes that a message adds once, in its first packet.
        in_mtu_bytes: Headers that the MTU counts: Ethernet's MTU has IP and TCP in it, the MTU of RDMA has none.
        is_rdma: Whether NICs move messages without a core for each packet.
        usual_mtu: MTU that is assumed where nobody says: the largest of RDMA, and Ethernet's own.
    """

    word: str
    title: str
    packet_bytes: int
    message_bytes: int
    in_mtu_bytes: int
    is_rdma: bool
    usual_mtu: int

    def payload_bytes(self, mtu: int | None = None) -> int:
        """The most payload of a packet."""
        return (mtu or self.usual_mtu) - self.in_mtu_bytes

    def share(self, mtu: int | None = None, message_bytes: int | None = None) -> float:
        """Payload over bytes on the line.

        Args:
            mtu: MTU in bytes; None: the usual one.
            message_bytes: Bytes of a message; None: large ones.
        """
        payload = self.payload_bytes(mtu)
        if message_bytes is None:
            return payload / (payload + self.packet_bytes)
        packets = -(-message_bytes // payload)
        return message_bytes / (message_bytes + packets * self.packet_bytes + self.message_bytes)

    def words(self, mtu: int | None = None) -> str:
        """`RoCE v2, MTU 1024 B`."""
        return f"{self.title}, MTU {mtu or self.usual_mtu} B"

    def check_mtu(self, mtu: int, name: str) -> int:
        """An MTU that the protocol has.

        Raises:
            InputError: It has no such MTU.
        """
        if self.is_rdma and mtu not in _RDMA_MTUS:
            raise refusal(
                "wrong-value",
                f"{name} {mtu}: RDMA has MTUs of {', '.join(map(str, _RDMA_MTUS))} B: give the active MTU that "
                "ibv_devinfo and perftest print",
            )
        if not max(_LEAST_MTU, self.in_mtu_bytes + 1) <= mtu <= _MOST_MTU:
            raise refusal("out-of-range", f"{name} {mtu}: give {_LEAST_MTU} to {_MOST_MTU} bytes")
        return mtu


def _rdma(word: str, title: str, network_bytes: int) -> Protocol:
    return Protocol(word, title, network_bytes + _TRANSPORT_BYTES, _RETH_BYTES, 0, is_rdma=True, usual_mtu=4096)


PROTOCOLS: Mapping[str, Protocol] = {
    one.word: one
    for one in (
        # What crosses PCIe has the header of 14 B in it.
        Protocol("ethernet", "Ethernet", _ETHERNET_BYTES - 14, 0, -14, is_rdma=False, usual_mtu=1500),
        Protocol(
            "udp",
            "UDP over IPv4",
            _ETHERNET_BYTES + _IPV4_BYTES + _UDP_BYTES,
            0,
            _IPV4_BYTES + _UDP_BYTES,
            is_rdma=False,
            usual_mtu=1500,
        ),
        Protocol(
            "tcp",
            "TCP over IPv4",
            _ETHERNET_BYTES + _IPV4_BYTES + _TCP_BYTES,
            0,
            _IPV4_BYTES + _TCP_BYTES,
            is_rdma=False,
            usual_mtu=1500,
        ),
        _rdma("roce", "RoCE v2", _ETHERNET_BYTES + _IPV4_BYTES + _UDP_BYTES),
        _rdma("roce-v1", "RoCE v1", _ETHERNET_BYTES + _GRH_BYTES),
        _rdma("infiniband", "InfiniBand", _LRH_BYTES + _VCRC_BYTES),
    )
}
"""The protocols by their words."""
_SAME = {"ib": "infiniband", "roce-v2": "roce", "rocev2": "roce", "rocev1": "roce-v1", "eth": "ethernet"}


def read_protocol(text: str, name: str = "--protocol") -> Protocol:
    """The protocol of a word.

    Raises:
        InputError: There is none of that name.
    """
    word = text.strip().lower()
    found = PROTOCOLS.get(_SAME.get(word, word))
    if found is None:
        raise refusal("not-found", f"{name} {shown(text)}: {suggestion(word, list(PROTOCOLS))}")
    return found
