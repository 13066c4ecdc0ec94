"""The parts of a system as the simulator takes them: keys and meanings.

Written by `make generate` from `crates/pcie-sim/src/profile`: change the types there.
"""

from typing import Literal

from pcielab.library.profiles.values import Part, Values, Whole


class Link(Part):
    """The negotiated parameters, and those of the device's configuration registers."""

    part = "link"

    generation: Literal[1, 2, 3, 4, 5, 6, 7]
    """PCIe generation."""
    lanes: Literal[1, 2, 4, 8, 12, 16, 32]
    """Lanes in use."""
    mps_bytes: Literal[128, 256, 512, 1024, 2048, 4096]
    """Maximum payload size (MPS)."""
    mrrs_bytes: Literal[128, 256, 512, 1024, 2048, 4096]
    """Maximum read request size (MRRS)."""
    rcb_bytes: Literal[64, 128]
    """Read completion boundary of the root port."""
    ecrc: bool
    """Whether the device appends an ECRC to its TLPs (`CGenEn+` in its AER capability)."""
    root_port_ecrc: bool | None
    """Whether the root port appends an ECRC to its TLPs, completions above all (`CGenEn+` in the AER capability of
    the root port); absent: no."""
    ide: bool | None
    """Whether TLPs are encrypted (IDE): each carries 16 B more, a prefix (in flit mode an OHC-C) of 4 B and a MAC
    of 12 B of its own; absent: no. MACs that TLPs share are not simulated; `pcielab model bandwidth --ide 8` has
    them."""
    tags: int
    """Read requests that the device may have in flight: 32 without extended tags, 256 with, 768 with 10-bit tags;
    in flit mode 16384 with 14-bit tags, less those that are reserved."""
    flit: bool
    """Flit mode: always in generations 6 and 7, optional at lower rates."""
    flit_entry: Literal["running", "next"] | None
    """In flit mode, which flit takes a TLP that finds no other one waiting; absent: `running`."""
    flit_check_ns: float | None
    """In flit mode, the receiver's time to correct and check a whole flit (FEC, then CRC); absent: 2.5 ns, the
    middle of the 2 to 3 ns that secondary sources give; no measurement is known."""
    flit_error_rate: float | Literal["specification"] | None
    """In flit mode, the probability that a flit with TLPs arrives damaged beyond correction, so that it is sent
    again; `specification`: 5e-6, for which PCIe 6.0 is designed; absent: 0."""
    flit_replay: Literal["go-back-n", "selective"] | None
    """In flit mode, what is sent again after a damaged flit: it and all behind it, or it alone; absent:
    `go-back-n`."""
    replay_buffer_flits: int | None
    """In flit mode, flits that a port keeps until they are acknowledged, and waits beyond; absent: no limit.
    Sequence numbers allow 511."""
    tlp_error_rate: float | None
    """Without flits, the probability that a TLP arrives with a bad LCRC, so that it and all behind it are sent
    again; absent: 0."""
    nak_loss_share: float | None
    """Of the damaged TLPs, the share that no Nak announces, so that the replay timer ends the wait; absent: 0."""
    replay_timer_ns: float | None
    """Without flits, from the end of a TLP until it is sent again if neither Ack nor Nak came; absent: three times
    the Ack latency limit up to generation 3, and 24,000 symbol times after it."""
    replay_buffer_bytes: int | None
    """Without flits, bytes of TLPs that a port keeps until they are acknowledged, and waits beyond; absent: no
    limit."""


class RootComplex(Values):
    """How requests enter the host, how long they take, and how completions leave it."""

    read_ns: float
    """From a request's arrival to its first completion at the head of the downlink, with nothing else in flight,
    for data that the device wrote to the last-level cache."""
    busy_read_ns: float
    """The same when other requests are in flight: a busy root complex cannot bypass its queues."""
    write_ns: float
    """From when the last line of a posted write starts to arrive, for a line in the last-level cache, until a read
    behind it may proceed."""
    line_interval_ns: float
    """From one line of a read request to the next: they are fetched one after the other."""
    completion_interval_ns: float
    """Least time between two completions for one request, on top of that."""
    flight_ns: float
    """Time of flight of a TLP from port to port, one way, serialisation aside."""
    request_interval_ns: float
    """Least time between two read requests accepted."""
    write_interval_ns: float
    """Least time between two posted writes accepted, on top of what their lines take."""
    write_line_ns: float
    """Time for each line of a posted write before the next write is accepted."""
    partial_line_busy_ns: float
    """Time for which a line that a write has filled in part stays closed to the next write that continues in it; 0
    if the root complex merges both."""
    jitter_ns: float
    """Half-width of the uniform spread of `read_ns`."""
    busy_jitter_ns: float
    """Half-width of the uniform spread of `busy_read_ns`: a busy root complex is less regular."""
    conflict_share: float
    """Share of reads, with no others of the device in flight, that meet a ring or an agent in use by others."""
    conflict_ns: float
    """Longest wait in this conflict; waits are uniform from 0."""
    completion_order: Literal["fifo", "random", "random-small"]
    """Order of completions among requests whose data are available: `fifo` (as they came), `random` (any),
    `random-small` (any while a small one waits, else the oldest)."""
    small_request_bytes: int
    """Requests of at most this many bytes are small."""
    completion_split: Literal["aligned-mps", "every-rcb"]
    """Where an answer is split: at addresses that are multiples of MPS, or at every read completion boundary."""
    merge_partial_lines: bool
    """Whether partial cache lines at the ends of a request of more than two lines travel with their neighbours."""
    downlink_quantum_bytes: int
    """The port sends completions in units of this many bytes: a TLP occupies whole units."""
    downlink_dllp_bytes: int
    """Bytes of DLLPs that the port sends downstream for each posted write that arrives."""
    downlink_stretch: float
    """Serialisation time downstream over the raw line rate, to account for DLLPs and SKPs (1.0: none)."""
    uplink_stretch: float
    """The same upstream."""
    posted_header_credits: int | Literal["infinite"]
    """Posted header credits that the root port advertises; `infinite`: no write ever waits for one."""
    posted_data_credits: int | Literal["infinite"]
    """Posted data credits (16 B each), likewise."""
    non_posted_header_credits: int | Literal["infinite"]
    """Non-posted header credits, likewise."""
    credit_return_ns: float
    """From a TLP's arrival until its credits are back at the device."""
    write_pool_lines: int | None
    """Cache lines of posted writes that the root complex holds, for all devices below it. A line has an entry from
    its admission until `write_ns` after memory has accepted it, and a link credit returns with the admission;
    absent: the link's credits are the only limit."""
    read_pool_lines: int | None
    """Cache lines of read requests that the root complex holds from their admission until their data are
    available, for all devices below it; absent: the device's tags are the only limit."""


class LastLevelCache(Values):
    """The last-level cache of a socket, and the part of it that DDIO may fill."""

    llc_bytes: int
    """Capacity."""
    ways: int
    """Ways."""
    ddio_ways: int
    """Ways in which a write from a device may allocate."""
    slices: int
    """Slices that addresses are hashed over."""
    slice_spread: float
    """Relative standard deviation of the slices' shares of the lines."""
    host_share: float
    """Share of the capacity that data written by the CPU really occupy."""


class Refresh(Values):
    """DRAM refresh: an access that meets one waits for its end."""

    interval_ns: float
    """Average time between two refreshes of a rank (tREFI)."""
    duration_ns: float
    """Length of a refresh (tRFC)."""
    share: float
    """Refreshes met per refresh of one rank: 1 in theory, 0 to switch refresh off."""
    caught_ns: float
    """An access that starts less than this before a refresh is aborted, and repeated after it."""
    again_ns: float
    """Time to repeat an aborted access after the refresh."""
    hit_share: float
    """Share of reads of cached lines that also access memory, and so wait for refreshes."""


class Memory(Values):
    """Costs of an access over a hit in the last-level cache on a line that the device wrote."""

    host_line_ns: float
    """A line in the cache that the CPU wrote."""
    miss_ns: float
    """A line in local memory."""
    busy_miss_ns: float
    """The same for DMA reads while the root complex is busy."""
    remote_ns: float
    """On top of `miss_ns`, memory on another socket."""
    remote_dirty_ns: float
    """On top of `miss_ns`, a line that is dirty in another socket's cache."""
    busy_remote_ns: float | None
    """`remote_ns` for DMA reads while the root complex is busy; the same if left out."""
    busy_remote_dirty_ns: float | None
    """`remote_dirty_ns` for DMA reads while the root complex is busy; the same if left out."""
    ownership_ns: float
    """A full-line write that misses: getting ownership, memory local to the device."""
    remote_ownership_ns: float
    """The same for memory on another socket."""
    untouched_ns: float
    """Memory that was never written since it was allocated, until its first write (directory state; inferred)."""
    saturated_gbytes_per_s: float | None
    """Traffic that memory carries when it is saturated, all cores and devices together; absent: devices never
    saturate it."""
    traffic_per_written_byte: float | None
    """Bytes of memory traffic for each byte that a device writes; absent: 1."""
    refresh: Refresh
    """Refresh, which makes the slow second mode of the latencies."""


class IoTlb(Values):
    """The IO-TLB."""

    entries: int
    """Entries that hold translations of the host buffer when requests come one at a time."""


class Iommu(Values):
    """The IOMMU; a system says whether it translates."""

    tlb: IoTlb
    """Its IO-TLB."""
    walk_ns: float
    """One page walk."""
    walkers: int
    """Concurrent walks."""
    walker_busy_ns: float
    """Time for which a walker is occupied by one walk."""
    busy_walk_spread: float
    """Share of a walk's time that varies between concurrent walks, exponentially distributed: a walk may find all
    or none of its entries in the caches."""
    pending_walks: int
    """Walks that can be active or waiting for a walker; further requests wait outside."""
    walk_region_bytes: int
    """Walks of pages in the same region of this size are serialised, as in 2 MiB, the reach of one last-level page
    table; 0: walks of all pages overlap."""
    ordered_reads: Literal["none", "misses"] | None
    """Which reads keep the order of their requests in the IOMMU; absent: `none`."""
    page_life: Literal["static", "recycled", "unmapped"] | None
    """How long the pages of a NIC's packet buffers keep their addresses; absent: `static`."""
    invalidation: Literal["lazy", "strict"] | None
    """When the IO-TLB forgets the page of a buffer that was unmapped; absent: `lazy`."""
    strict_walk_reads: float | None
    """Memory reads of a walk after a strict invalidation over those of other walks; absent: 1, the caches of page
    tables keep their entries."""


class CoreLoad(Values):
    """Cores that use memory beside the device.

    Writes of devices and n busy cores share `host.memory.saturated_gbytes_per_s`, S: devices get S / (1 +
    `core_share` n).
    """

    cores: int
    """Busy cores; 0: none."""
    kind: Literal["read", "read-write"]
    """What they do: `read` or `read-write`."""
    core_share: float
    """Memory traffic of a core over that of all devices' writes, where memory is saturated."""


class WakeCluster(Values):
    """A group of slow wake-ups: they take longer than a plain one by anything between two times."""

    share: float
    """Share of the transactions that are not fast."""
    low_ns: float
    """Least time over a plain wake-up."""
    high_ns: float
    """Most time over a plain wake-up."""


class Stalls(Values):
    """Stalls: a machine that nothing keeps awake repeatedly stops serving its devices for milliseconds.

    A stall adds to the latency of a single transaction and to the time of a write bandwidth test. Reads in flight
    keep a machine awake.
    """

    interval_ns: float
    """Time of service between two stalls, the median of all tests."""
    interval_spread: float
    """Standard deviation of that time's natural logarithm from test to test: it depends on a state of the machine
    that no test sets. Write bandwidths therefore differ from seed to seed; latency tests use the median."""
    duration_ns: float
    """How long a stall lasts."""


class IdleStates(Values):
    """Idle states that a machine enters when no read keeps it awake."""

    gap_ns: float
    """A time without traffic longer than this lets the machine go to sleep."""
    fast_share_short_gap: float
    """Share of transactions that stay fast after a short gap."""
    fast_share_long_gap: float
    """The same after a long gap."""
    wake_ns: float
    """Extra time of a transaction that finds the machine asleep, for a plain wake-up."""
    wake_floor_ns: float
    """Least latency of a read that wakes the machine, without the device's part and the wait for a write before
    it: falling asleep is not interrupted, so a read that comes sooner waits longer."""
    clusters: list[WakeCluster]
    """Slower wake-ups; the rest are plain."""
    stalls: Stalls
    """Stalls of milliseconds."""


class Host(Part):
    """A host, as its calibration or its data sheet describes it."""

    part = "host"

    name: str
    """Short name."""
    sockets: int
    """Processor sockets, each with its own last-level cache and memory."""
    root_complex: RootComplex
    """The root complex that the device is attached to."""
    llc: LastLevelCache
    """The last-level cache of each socket."""
    memory: Memory
    """Memory and the path to it."""
    iommu: Iommu
    """The IOMMU."""
    load: CoreLoad | None
    """Cores that use memory beside the device; absent: none."""
    idle: IdleStates | None
    """Power-saving states that delay transactions, if the machine has them."""


class Timer(Values):
    """The timer that latencies are read from."""

    numerator_ns: int
    """Length of a tick in ns: numerator."""
    denominator: int
    """Length of a tick in ns: denominator."""
    cycles: int
    """Clock cycles in a tick: the unit of the published columns."""


class DataEngine(Values):
    """The engine that moves data between port and device memory, in segments of device addresses."""

    read_fixed_ns: float
    """Time per DMA, reads."""
    write_fixed_ns: float
    """Time per DMA, writes."""
    segment_bytes: int
    """Segment of device addresses."""
    segment_ns: float
    """Time for a whole segment."""
    word_bytes: int
    """Width of the device's memory bus."""
    word_ns: float
    """Time per word of a last, partial segment."""
    short_tail_ns: float
    """Time for a last segment that holds no more than one word."""
    shifted_flush_ns: float
    """Time to empty the shifter behind a read both of whose ends lie inside words of the device's memory."""
    boundary_ns: float
    """Extra for a request boundary inside a segment, if the read is not shifted."""
    write_gap_bytes: int
    """Behind a part of a write that is a single TLP, the uplink pads to a multiple of this and idles for as much
    again, because nothing hides the device's switch to the next part; 0: no gap."""
    write_part_bytes: int
    """Writes are first split at host addresses that are multiples of this, a power of two of 64 to 4096; each part
    is then split into TLPs of at most MPS, counted from its start."""
    both_ways_byte_ns: float | None
    """Time per byte of a write in a test that also reads, where it is longer than the engine's own: data that land
    in the device's memory and data that leave it take turns. Absent: they never wait for each other."""
    both_ways_bytes: int | None
    """Bytes at the start of a write that take turns with reads; those behind them do not. Absent: all."""


class DmaPath(Values):
    """The DMA path."""

    outstanding: int
    """DMAs that can be waiting or going on at once: workers, or the depth of the request pipeline."""
    transfer_bytes_most: int
    """Longest transfer."""
    transfer_multiple_bytes: int
    """Every transfer is a multiple of this many bytes."""
    tags: int | None
    """Tags that the device uses, of those that the link provides; absent: all."""
    tag_order: Literal["in-turn", "any-free"]
    """Which tag the next read request gets: the next in turn, which is waited for while it is in use even if
    others are free (`in-turn`), or any that is free (`any-free`)."""
    tag_return_ns: float
    """From the arrival of a read request's last completion until its tag, and its room in the buffer for
    completions, are free for another request."""
    cut_through: bool
    """Whether data are forwarded while they arrive, and not after the whole transfer."""
    read_overhead_ns: float
    """From the start of a latency measurement until the first TLP is handed to the port, and from the last byte
    received until the end of the measurement, together, for a read."""
    write_overhead_ns: float
    """Extra start time of the write of a write-then-read pair, over that of a read."""
    write_byte_ns: float
    """Time for each byte of a pair's write before it leaves, up to MPS: a device that hands over whole TLPs."""
    write_to_read_ns: float
    """From the end of reading a pair's write data from device memory to the start of the read behind it."""
    write_acknowledged_ns: float
    """The same from the departure of the write's last TLP: for the device, a write is done once the root port has
    acknowledged it."""
    loop_ns: float
    """Loop time between two latency measurements."""
    request_interval_ns: float
    """From one read request of a DMA to the next."""
    busy_request_interval_ns: float
    """Least time between any two read requests when many DMAs are going on."""
    partial_word_ns: float
    """Extra latency of a read that ends on a part of a word of device memory."""
    unaligned_card_ns: float
    """Extra latency of a read that starts off a word of device memory."""
    unaligned_host_ns: float
    """The same off a word on the host: the data are shifted."""
    receive_buffers: int
    """Read requests whose data the device can hold until the data engine has moved them; with all buffers in use,
    the root complex holds back further completions."""
    completion_buffer_bytes: int | None
    """Data that the buffer for completions holds. A read request reserves room for its data, in whole credits of
    16 bytes, and gives it back with its tag; absent: never too small."""
    completion_buffer_headers: int | None
    """Headers that the same buffer holds: a read request reserves one for each completion that the read completion
    boundary (`link.rcb_bytes`) allows; absent: never too few."""
    relaxed_ordering: bool | None
    """Whether writes carry the relaxed-ordering attribute: one may pass earlier writes in a root complex that has
    a pool for them (`host.root_complex.write_pool_lines`). Reads never pass writes (PCI Express Base
    Specification, section 2.4.1); absent: no."""
    engine: DataEngine
    """The engine that moves data between the port and device memory."""


class BarWindow(Values):
    """A movable window onto bus addresses, rewritten to reach another part of memory."""

    window_bytes: int
    """Bytes it covers."""
    moved_ns: float
    """Extra latency of a read right after it was moved."""
    move_ns: float
    """Extra loop time when it has to be moved."""


class CommandPath(Values):
    """The command path: small reads and writes straight from the device's registers."""

    transfer_bytes_most: int
    """Longest transfer."""
    read_overhead_ns: float
    """Start and end of a measurement together, for a read."""
    read_byte_ns: float
    """Time for each byte read."""
    write_byte_ns: float
    """Time for each byte written."""
    read_split_ns: float
    """Extra latency of a read of a whole cache line at an offset, which is split."""
    write_split_ns: float
    """The same for a write and the read behind it."""
    loop_ns: float
    """Loop time between two measurements."""
    write_loop_ns: float
    """Extra loop time of a write-then-read pair, to prepare the data, for the shortest write."""
    write_loop_byte_ns: float
    """Extra loop time of a write-then-read pair for each byte."""
    address_bits: int
    """Address bits that the path can drive: higher ones are dropped."""
    bar_window: BarWindow | None
    """The window register that must be rewritten to reach another part of memory, where the board has one."""


class Card(Part):
    """A device that can run the micro-benchmarks."""

    part = "device"

    name: str
    """Short name."""
    kind: Literal["queued", "direct"]
    """How it issues DMAs: workers enqueue descriptors and wait for their completion (`queued`; pcie-bench paper,
    section 5.1), or a state machine hands one request per clock to the core (`direct`; section 5.2)."""
    timer: Timer
    """Its timer."""
    latency_samples_most: int | None
    """Most samples that one latency test can journal; absent without a limit."""
    transactions_most: int | None
    """Most transactions of one bandwidth test; absent without a limit."""
    uplink_quantum_bytes: int
    """The port sends TLPs upstream in units of this many bytes."""
    uplink_data_quantum_bytes: int
    """The data of a write TLP occupy whole units of this many bytes, a power of two of 4 to 4096."""
    uplink_gap_bytes: int
    """Bytes that the port leaves free behind each TLP."""
    uplink_dllp_bytes: int
    """Bytes of DLLPs that the port sends upstream for each completion that arrives."""
    dma: DmaPath
    """The DMA path."""
    command: CommandPath | None
    """The command path, if the device has one."""


class Placement(Whole):
    """A system's own keys, besides the link, host and device that it names."""

    name: str
    """Short name, for example `ib-011-nosp`."""
    title: str
    """One line for people."""
    calibrated: bool
    """Whether the parameters were estimated from measurements of this machine."""
    device_socket: int
    """Socket that the device is attached to."""
    memory_socket: int
    """Socket whose memory holds the host buffer."""
    program_socket: int
    """Socket that the control program runs on: the one whose caches it thrashes and warms."""
    iommu: Literal["off", "super-pages", "four-kib-pages"]
    """How the IOMMU translates: not at all, with the largest pages that fit, or with 4 KiB pages only."""
    chunk_bytes: int
    """Size of one physically contiguous piece of the host buffer: a power of two, at least one page."""
    chunk_addresses: list[int]
    """Bus address of each piece, in buffer order; their number times `chunk_bytes` is the size of the buffer."""


class System(Placement):
    """A resolved system: the simulator's JSON input has exactly these keys."""

    link: Link
    """The negotiated link."""
    host: Host
    """The host."""
    device: Card
    """The device."""
