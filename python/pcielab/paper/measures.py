"""Measures for the numbers in the pcie-bench paper's text, by the names in `suites/published/pcie-bench.toml`.

Numbers about machines come from tests of the paper's figures (`pcielab paper figure`); numbers about links and
NICs from the model, under the paper's accounting.
"""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from pcielab import model, single_test
from pcielab._core import raw_gbps
from pcielab.library.profiles import resolve
from pcielab.library.suites import load_suite
from pcielab.model.link import Accounting, Ethernet
from pcielab.paper.rows import Rows
from pcielab.percentiles import percentile_of_counts

LINK = model.Link(generation=3, lanes=8, mps_bytes=256, mrrs_bytes=512)
LOOPED = "exanic-2018"
CACHES_SYSTEM = "snb"
"""The machine of the paper's section on caches."""


class Modelled:
    """Measures of links and NICs. Sizes and frames are bytes."""

    def physical_layer_gbps(self) -> float:
        """Rate of Gen3 x8 after line coding."""
        return raw_gbps(3, 8)

    def tlp_layer_gbps(self) -> float:
        """Rate left for TLPs."""
        return self._transfer(64).tlp_gbps

    def data_link_overhead_percent(self) -> float:
        """Share of the physical layer's rate that the data link layer takes."""
        return 100 * (1 - self.tlp_layer_gbps() / self.physical_layer_gbps())

    def header_bytes_of_a_write(self) -> float:
        """Overhead bytes of a write's TLP."""
        return 64 / self._transfer(64).write_use.efficiency - 64

    def header_bytes_of_a_read(self) -> float:
        """Overhead bytes of a read's request and completion."""
        return 64 / self._transfer(64).read_use.efficiency - 64

    def usable_gbps(self, size: int) -> float:
        """Bandwidth of simultaneous reads and writes, per direction."""
        return self._transfer(size).rdwr.gbps

    def pairs_millions_per_s(self, size: int) -> float:
        """Pairs of a read and a write."""
        return self._transfer(size).rdwr.millions_per_s

    def transaction_interval_ns(self, size: int) -> float:
        """Interval of the transactions of these pairs at the root complex."""
        return 1e3 / (2 * self.pairs_millions_per_s(size))

    def loopback_share_percent(self, packet: int) -> float:
        """PCIe's share in the latency of a looped packet (figure 2)."""
        [found] = model.loopback(model.load_message_profile(LOOPED), [packet])
        return 100 * found.pcie_share

    def loopback_ns(self, packet: int) -> float:
        """Latency of a looped packet."""
        return model.loopback(model.load_message_profile(LOOPED), [packet])[0].total_ns

    def simple_nic_misses_up_to(self) -> float:
        """The largest frame at which the simple NIC misses the line rate of 40G Ethernet."""
        answers = self._simple_nic(range(64, 1501))
        return max(answer.frame_bytes for answer in answers if answer.bi.gbps < answer.line_gbps)

    def simple_nic_gbps(self, frame: int) -> float:
        """Bandwidth of the simple NIC for frames of one size, per direction."""
        return self._simple_nic([frame])[0].bi.gbps

    def packet_interval_ns(self, frame: int) -> float:
        """Interval of packets at 40G line rate."""
        return model.sizing([frame], [1.0])[0].packet_interval_ns

    def packets_in_flight(self, frame: int, latency_ns: float) -> float:
        """Packets in flight at 40G line rate."""
        return model.sizing([frame], [latency_ns])[0].packets_in_flight

    def timer_ns(self, system: str) -> float:
        """Tick of the device's timer."""
        timer = resolve(system).system.device.timer
        return timer.numerator_ns / timer.denominator

    def workers(self, system: str) -> float:
        """DMAs in flight of the card's firmware in bandwidth tests."""
        return resolve(system).system.device.dma.outstanding or 0

    def llc_mib(self, system: str) -> float:
        """Last-level cache of a socket."""
        return resolve(system).system.host.llc.llc_bytes / (1 << 20)

    def smallest_llc_mib(self, systems: Sequence[str]) -> float:
        """Smallest last-level cache of a socket among systems."""
        return min(map(self.llc_mib, systems))

    def tests_of_the_suite(self) -> float:
        """Tests of a complete run."""
        return len(load_suite("paper").tests)

    def io_tlb_entries(self, system: str) -> float:
        """Entries of the IO-TLB, as calibrated."""
        return resolve(system).system.host.iommu.tlb.entries

    def _simple_nic(self, frames: Sequence[int]) -> list[model.NicThroughput]:
        nic = model.load_nic("simple-nic")
        return model.nic(nic, LINK, frames, ethernet=Ethernet(), accounting=Accounting.SIGCOMM18)

    def _transfer(self, size: int) -> model.Bandwidth:
        return model.bandwidth(LINK, [size], accounting=Accounting.SIGCOMM18)[0]


class Measures(Modelled):
    """All measures, over rows of runs. Windows are bytes, changes percent."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def take(self, measure: str, **given: Any) -> float:
        """A measure, by its name."""
        return float(getattr(self, measure)(**given))

    def slower_than_netfpga_ns(self, system: str, size: int) -> float:
        """A DMA read on a system, less the same on the NetFPGA."""
        return self.read_ns(system, size, "median") - self._read("netfpga-hsw", "netfpga", size)["median"]

    def commands_slower_than_netfpga_ns(self, system: str, size: int) -> float:
        """A read on the command path, less a DMA read on the NetFPGA."""
        commands = self._row(system, "fig5", path="command", operation="lat-rd", size_bytes=size)
        return float(commands["median"] - self._read("netfpga-hsw", "netfpga", size)["median"])

    def share_of_model_percent(self, system: str, size: int) -> float:
        """Bandwidth of DMA reads of a NetFPGA over the paper's model."""
        row = self._row(system, "netfpga", operation="bw-rd", size_bytes=size)
        return float(100 * row["bandwidth"] / self._transfer(size).read.gbps)

    def read_ns(self, system: str, size: int, metric: str) -> float:
        """A DMA read of a warm window."""
        return float(self._read(system, "fig5", size)[metric])

    def packets_in_flight_of(self, system: str, frame: int, metric: str) -> float:
        """Packets in flight at 40G line rate with a system's DMA latency for that size."""
        return self.packets_in_flight(frame, self.read_ns(system, frame, metric))

    def most_of_ethernet(self, system: str, operation: str, first: int, last: int) -> float:
        """Largest bandwidth relative to the demand of 40G Ethernet, over a range of sizes, percent."""
        rows = self._rows.table(system, "fig4", operation=operation)
        rows = rows[rows["size_bytes"].between(first, last)]
        need = 40 * rows["size_bytes"] / (rows["size_bytes"] + 24)
        return float((100 * rows["bandwidth"] / need).max())

    def as_fast_beyond(self, system: str, other: str) -> float:
        """Largest size with reads more than 6 % slower than on another system; MPS alone may cost 5."""
        tables = (
            self._rows.table(one, "fig4", operation="bw-rd").set_index("size_bytes")["bandwidth"]
            for one in (system, other)
        )
        ratio = next(tables) / next(tables)
        return float(ratio[ratio < 0.94].index.max())

    def share_up_to_median(self, system: str) -> float:
        """Share of 64 B reads of a warm window within a tick above the median, percent."""
        row = self._row(system, "fig6", cache="host-warm")
        bins = self._rows.bins(system, "fig6", int(row["id"]))
        limit = float(row["median"]) + self.timer_ns(system)
        return float(100 * bins[bins["latency_ns"] <= limit]["count"].sum() / bins["count"].sum())

    def quantile(self, system: str, share: float) -> float:
        """A quantile of the distribution of 64 B reads of a warm window, ns."""
        row = self._row(system, "fig6", cache="host-warm")
        bins = self._rows.bins(system, "fig6", int(row["id"]))
        return percentile_of_counts(bins["latency_ns"], bins["count"], share)

    def quantile_span(self, system: str, share: float) -> float:
        """A quantile less the minimum, ns."""
        return self.quantile(system, share) - self.quantile(system, 0.0)

    def quantile_over_median(self, system: str, share: float) -> float:
        """A quantile over the median."""
        return self.quantile(system, share) / self.quantile(system, 0.5)

    def by_window_ns(self, operation: str, window: int, cache: str, less_window: int, less_cache: str) -> float:
        """A median of 8 B commands over one window, less that over another."""
        return self._command_ns(operation, window, cache) - self._command_ns(operation, less_window, less_cache)

    def pairs_beyond_ways_ns(self, size: int, window: int, from_window: int) -> float:
        """A median of write-read pairs by commands over a cold window, less that over another."""
        beyond, within = (
            self._rows.median_ns(
                CACHES_SYSTEM, single_test("lat-wrrd", size=size, window=bytes_, cache="cold", path="command")
            )
            for bytes_ in (window, from_window)
        )
        return beyond - within

    def cache_change(self, system: str, size: int, window: int) -> float:
        """The change of the bandwidth of reads from a cold window to a warm one."""
        cold, warm = (self.gbps(system, size, window, cache=cache) for cache in ("cold", "host-warm"))
        return 100 * (warm / cold - 1)

    def writes_change(self, window: int, cache: str, from_window: int, from_cache: str) -> float:
        """The change of the bandwidth of 64 B writes from one window to another."""
        return 100 * (self._writes_gbps(window, cache) / self._writes_gbps(from_window, from_cache) - 1)

    def gbps(
        self, system: str, size: int, window: int, cache: str = "host-warm", operation: str = "bw-rd"
    ) -> float:
        """A bandwidth over a window."""
        row = self._row(
            system, "fig8-fig9", operation=operation, size_bytes=size, window_bytes=window, cache=cache
        )
        return float(row["bandwidth"])

    def change(self, base: str, other: str, size: int, window: int, **more: str) -> float:
        """The change of a bandwidth from one system to another."""
        return 100 * (self.gbps(other, size, window, **more) / self.gbps(base, size, window, **more) - 1)

    def slower_ns(self, base: str, other: str, window: int, cache: str) -> float:
        """A median of 64 B DMA reads on one system, less that on another."""
        test = {"operation": "lat-rd", "size_bytes": 64, "window_bytes": window, "cache": cache}
        return float(
            self._row(other, "fig8-fig9", **test)["median"] - self._row(base, "fig8-fig9", **test)["median"]
        )

    def _command_ns(self, operation: str, window: int, cache: str) -> float:
        asked = {"operation": operation, "window_bytes": window, "cache": cache, "path": "command"}
        return float(self._row(CACHES_SYSTEM, "fig7", **asked)["median"])

    def _writes_gbps(self, window: int, cache: str) -> float:
        asked = {"operation": "bw-wr", "window_bytes": window, "cache": cache}
        return float(self._row(CACHES_SYSTEM, "fig7", **asked)["bandwidth"])

    def _read(self, system: str, suite: str, size: int) -> "pd.Series[float]":
        return self._row(system, suite, path="dma", operation="lat-rd", size_bytes=size)

    def _row(self, system: str, suite: str, **parameters: object) -> "pd.Series[float]":
        rows = self._rows.table(system, suite, host_offset_bytes=0, device_offset_bytes=0, **parameters)
        if rows.empty:
            raise LookupError(f"{system} {suite}: no row has {parameters}")
        return rows.iloc[-1]
