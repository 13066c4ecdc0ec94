"""The host: root complex, last-level cache, memory, IOMMU, idle states."""

from typing import Literal, Self

from pydantic import Field, model_validator

from pcielab.profiles.part import (
    Count,
    DataCredits,
    HeaderCredits,
    Name,
    Nanoseconds,
    Padding,
    Part,
    Quantum,
    Share,
    Size,
    Size32,
    StepTime,
)


class RootComplex(Part):
    """How requests enter the host, how long they take, and how completions leave it."""

    read_ns: StepTime
    """From a request's arrival to its first completion at the head of the downlink, nothing else being in flight,
    for data in the last-level cache that the card wrote there."""
    busy_read_ns: StepTime
    """The same when other requests are in flight: a busy root complex cannot bypass its queues."""
    write_ns: StepTime
    """From when the last line of a posted write starts to arrive, for a line in the last-level cache, until a read
    behind it may go on."""
    line_interval_ns: StepTime
    """From one line of a read request to the next: they are fetched one after the other."""
    completion_interval_ns: StepTime
    """Least time between two completions for one request, on top of that."""
    flight_ns: StepTime
    """Time of flight of a TLP from port to port, one way, serialisation aside."""
    request_interval_ns: StepTime
    """Least time between two read requests accepted."""
    write_interval_ns: StepTime
    """Least time between two posted writes accepted, on top of what their lines take."""
    write_line_ns: StepTime
    """Time for each line of a posted write before the next write is accepted."""
    partial_line_busy_ns: StepTime
    """How long a line that a write has filled in part stays closed to the next write that goes on in it; 0 where
    the root complex merges both."""
    jitter_ns: StepTime
    """Half-width of the uniform spread of `read_ns`."""
    busy_jitter_ns: StepTime
    """Half-width of the uniform spread of `busy_read_ns`: a busy root complex is less regular."""
    conflict_share: Share = 0.0
    """Share of reads that, with nothing else of the card's in flight, find a ring or an agent taken by others."""
    conflict_ns: StepTime = 0.0
    """The longest that such a read waits; it may be anything up to that."""
    completion_order: Literal["fifo", "random", "random-small"]
    """Order of completions among requests whose data are there: `fifo` (as they came), `random` (any),
    `random-small` (any while a small one waits, else the oldest)."""
    small_request_bytes: Size32
    """Requests of at most so many bytes are small."""
    completion_split: Literal["aligned-mps", "every-rcb"]
    """Where an answer is cut: at addresses that are multiples of MPS, or at every read completion boundary."""
    merge_partial_lines: bool
    """Whether partial cache lines at the ends of a request of more than two lines travel with their neighbours."""
    downlink_quantum_bytes: Quantum
    """The port sends completions in units of this many bytes: a TLP occupies whole units."""
    downlink_dllp_bytes: Padding
    """Bytes of DLLPs that the port sends downstream for each posted write that arrives."""
    downlink_stretch: float = Field(ge=1, le=2)
    """Serialisation time downstream over the raw line rate: what DLLPs and SKPs really take (1.0: nothing)."""
    uplink_stretch: float = Field(ge=1, le=2)
    """The same upstream."""
    posted_header_credits: HeaderCredits
    """Posted header credits that the root port advertises; `infinite`: no write ever waits for one."""
    posted_data_credits: DataCredits
    """Posted data credits (16 B each), likewise."""
    non_posted_header_credits: HeaderCredits
    """Non-posted header credits, likewise."""
    credit_return_ns: StepTime
    """From a TLP's arrival until its credits are back at the card."""


class LastLevelCache(Part):
    """The last-level cache of a socket, and the part of it that DDIO may fill."""

    llc_bytes: Size
    """Capacity."""
    ways: int = Field(ge=1, le=255)
    """Ways."""
    ddio_ways: Count
    """Ways in which a write from a device may allocate."""
    slices: int = Field(ge=1, le=1024)
    """Slices that addresses are hashed over."""
    slice_spread: Share
    """Relative standard deviation of the slices' shares of the lines."""
    host_share: Share
    """Share of the capacity that data written by the CPU really occupy."""

    @model_validator(mode="after")
    def _ways_hold_ddio(self) -> Self:
        if self.ddio_ways > self.ways:
            raise ValueError(f"ddio_ways = {self.ddio_ways}: at most ways, which is {self.ways}")
        return self


class Refresh(Part):
    """DRAM refresh: an access that meets one waits for its end."""

    interval_ns: Nanoseconds = Field(gt=0)
    """Average time between two refreshes of a rank (tREFI)."""
    duration_ns: StepTime
    """Length of a refresh (tRFC)."""
    share: float = Field(ge=0, le=100)
    """Refreshes met per refresh of one rank: 1 in theory, 0 to switch refresh off."""
    caught_ns: StepTime = 0.0
    """An access that a refresh catches in its last stretch of this length is broken off, to be made again."""
    again_ns: StepTime = 0.0
    """What making it again takes once the refresh is over."""
    hit_share: Share = 0.0
    """Share of the reads of lines in the cache for which memory is asked all the same, so that they wait for
    refreshes too."""


class Memory(Part):
    """What an access costs on top of a hit in the last-level cache on a line that the card wrote."""

    host_line_ns: StepTime
    """A line in the cache that the CPU wrote."""
    miss_ns: StepTime
    """A line in local memory."""
    busy_miss_ns: StepTime
    """The same for DMA reads while the root complex is busy."""
    remote_ns: StepTime
    """On top of `miss_ns`, memory on another socket."""
    remote_dirty_ns: StepTime
    """On top of `miss_ns`, a line that is dirty in another socket's cache."""
    busy_remote_ns: StepTime | None = None
    """`remote_ns` for DMA reads while the root complex is busy; as much as that, if left out."""
    busy_remote_dirty_ns: StepTime | None = None
    """`remote_dirty_ns` for DMA reads while the root complex is busy; as much as that, if left out."""
    ownership_ns: StepTime
    """A full-line write that misses: getting ownership, memory local to the card."""
    remote_ownership_ns: StepTime
    """The same for memory on another socket."""
    untouched_ns: StepTime
    """Memory that was never written since it was allocated, until its first write (directory state; inferred)."""
    refresh: Refresh
    """Refresh, which makes the slow second mode of the latencies."""


class IoTlb(Part):
    """The IO-TLB."""

    entries: Count
    """Entries that hold translations of the host buffer when requests come one at a time."""


class Iommu(Part):
    """The IOMMU; a system says whether it translates."""

    tlb: IoTlb
    """Its IO-TLB."""
    walk_ns: StepTime
    """One page walk."""
    walkers: int = Field(ge=1, le=4096)
    """Walks that can go on at the same time."""
    walker_busy_ns: StepTime
    """Time for which a walker is occupied by one walk."""
    busy_walk_spread: Share
    """Share of a walk's time that varies from walk to walk when many go on, exponentially distributed: a walk may
    find all or nothing of what it needs in the caches."""
    pending_walks: int = Field(ge=1, le=65_536)
    """Walks that can be going on or waiting for a walker; more requests than that wait outside."""
    same_page_stall_ns: StepTime
    """For how long a request to a page that is being walked stops translation; 0: it shares the pending walk."""


class WakeCluster(Part):
    """A group of slow wake-ups: they take longer than a plain one by anything between two times."""

    share: Share
    """Share of the transactions that are not fast."""
    low_ns: Nanoseconds
    """Least time over a plain wake-up."""
    high_ns: Nanoseconds
    """Most time over a plain wake-up."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.high_ns < self.low_ns:
            raise ValueError(f"high_ns = {self.high_ns}: at least low_ns, which is {self.low_ns}")
        return self


class Stalls(Part):
    """Stalls: again and again a machine that nothing keeps awake stops serving its devices for milliseconds.

    In the latency of a transaction by itself they show as such. A test of write bandwidth takes so much longer;
    reads in flight keep a machine awake.
    """

    interval_ns: float = Field(gt=0, allow_inf_nan=False)
    """Time that a machine serves between two stalls, in the middle of all tests."""
    interval_spread: float = Field(ge=0, le=3)
    """Standard deviation of that time's natural logarithm from test to test: it hangs on a state of the machine
    that no test sets. Write bandwidths differ from seed to seed by it; latency tests have the middle."""
    duration_ns: Nanoseconds
    """How long a stall lasts."""


class IdleStates(Part):
    """Idle states that a machine falls into when no read keeps it awake."""

    gap_ns: Nanoseconds
    """A time without traffic longer than this lets the machine go to sleep."""
    fast_share_short_gap: Share
    """Share of transactions that stay fast after a short gap."""
    fast_share_long_gap: Share
    """The same after a long gap."""
    wake_ns: Nanoseconds
    """What a plain wake-up costs a transaction that comes when the machine is asleep."""
    wake_floor_ns: Nanoseconds
    """Least latency of a read that had to wake the machine, without the card's part of it and without waiting for
    a write before it: falling asleep is not broken off, so the sooner a read comes the longer it waits."""
    clusters: list[WakeCluster] = Field(max_length=64)
    """Slower wake-ups; the rest are plain."""
    stalls: Stalls
    """Stalls of milliseconds."""

    @model_validator(mode="after")
    def _shares_fit(self) -> Self:
        total = sum(cluster.share for cluster in self.clusters)
        if total > 1:
            raise ValueError(f"clusters: their shares add up to {total:g}, more than 1")
        return self


class Host(Part):
    """A host, as its calibration or its data sheet describes it."""

    name: Name
    """Short name."""
    sockets: int = Field(ge=1, le=64)
    """Processor sockets, each with its own last-level cache and memory."""
    root_complex: RootComplex
    """The root complex that the card is attached to."""
    llc: LastLevelCache
    """The last-level cache of each socket."""
    memory: Memory
    """Memory and the path to it."""
    iommu: Iommu
    """The IOMMU."""
    idle: IdleStates | None = None
    """Power-saving states that stretch transactions, where the machine has them."""
