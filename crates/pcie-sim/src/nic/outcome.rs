//! Results of a NIC run: rates, drops, latencies, link bytes of each step, and the bottleneck.

use super::bus::{Counted, Crossed};
use pcie_model::Interactions;
use pcie_time::Picoseconds;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

/// The bottleneck of a NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NicBound {
    /// None: the line is full.
    Line,
    /// The link from the NIC to the host is full.
    WireUpstream,
    /// The link from the host to the NIC is full.
    WireDownstream,
    /// Page walks of the IOMMU: its walkers are busy.
    Translation,
    /// Memory takes no more writes of devices.
    Memory,
    /// The root complex holds as many lines of writes as it can.
    WritePool,
    /// Writes wait for credits of the root complex.
    PostedCredits,
    /// Reads wait for the answers to earlier ones.
    Tags,
    /// Reads wait for room for their completions.
    CompletionBuffer,
    /// Reads wait for credits of the root complex.
    NonPostedCredits,
    /// Descriptors are not fetched, because the NIC holds as many as it can.
    DescriptorsHeld,
    /// Packets are not read, because the queue to the line is full.
    TransmitFifo,
    /// An access waits until enough packets share it.
    Batch,
    /// An interrupt that packets wait for is held back.
    Moderation,
    /// Every descriptor of the ring is in use.
    Ring,
    /// Packets are dropped, because the queue from the line is full, and nothing else of the NIC is.
    ReceiveFifo,
    /// No resource is full: descriptors, buffers and packets wait for round trips of one another.
    Latency,
}

impl fmt::Display for NicBound {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(to)
    }
}

/// What keeps a path from its next access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    Descriptors,
    TransmitFifo,
    Batch,
    Moderation,
    Ring,
}

impl Held {
    const ALL: [Self; 5] = [Self::Descriptors, Self::TransmitFifo, Self::Batch, Self::Moderation, Self::Ring];

    fn bound(self) -> NicBound {
        match self {
            Self::Descriptors => NicBound::DescriptorsHeld,
            Self::TransmitFifo => NicBound::TransmitFifo,
            Self::Batch => NicBound::Batch,
            Self::Moderation => NicBound::Moderation,
            Self::Ring => NicBound::Ring,
        }
    }
}

/// Share of the time from which on a sending port counts as full.
const FULL: f64 = 0.97;
/// Share of the time from which on waiting for a resource makes it the bottleneck.
const WAITING: f64 = 0.5;
/// The same where packets are dropped: what arrives while a ring is full is lost, however short that is.
const DROPPING: f64 = 0.02;
/// Share of the time from which on busy page walkers are the bottleneck: writes pass in order, so walkers wait
/// for a walk that others wait for.
const WALKING: f64 = 0.8;
/// The same of memory, or of a pool of lines.
const BUSY: f64 = 0.9;
/// Share of the line's rate from which on the line counts as full.
const AT_LINE_RATE: f64 = 0.998;

/// The results of a step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepOutcome {
    /// Bytes to the host for each packet, in TLPs with their headers.
    pub upstream_bytes: f64,
    /// Bytes to the NIC for each packet.
    pub downstream_bytes: f64,
    /// Mean time from an access's first TLP until its data have been read or are visible.
    pub mean_ns: f64,
    /// Mean number of accesses in flight.
    pub in_flight: f64,
    /// Finished accesses per second.
    pub accesses_per_s: f64,
}

/// The results of a NIC run.
#[derive(Clone, Debug, PartialEq)]
pub struct NicOutcome {
    /// Packets per second, in each direction.
    pub packets_per_s: f64,
    /// Packets per second of a full line.
    pub line_packets_per_s: f64,
    /// Share of the packets from the line that were dropped.
    pub dropped_share: f64,
    /// For each received packet, from the end of its frame on the line until the driver can see it, ns.
    pub latencies_ns: Vec<f64>,
    /// Share of the time for which the NIC's port sent.
    pub upstream_share: f64,
    /// Share of the time for which the root port sent.
    pub downstream_share: f64,
    /// The bottleneck.
    pub bound: NicBound,
    /// Page walks of the IOMMU for each finished packet.
    pub walks_per_packet: f64,
    /// By step, in the NIC's order; zeros for steps of a direction without traffic.
    pub steps: Vec<StepOutcome>,
}

impl NicOutcome {
    /// The average of NICs of a kind, with the bottleneck and the steps of the first; `None` without any. Page
    /// walks are those of the host, and so of all.
    pub(super) fn average(outcomes: impl Iterator<Item = Self>) -> Option<Self> {
        let mut all: Vec<Self> = outcomes.collect();
        let count = all.len() as f64;
        let mean = |value: fn(&Self) -> f64| all.iter().map(value).sum::<f64>() / count;
        let (packets_per_s, dropped_share) = (mean(|one| one.packets_per_s), mean(|one| one.dropped_share));
        let walks_per_packet = mean(|one| one.walks_per_packet) / count;
        let latencies_ns = all.iter_mut().flat_map(|one| std::mem::take(&mut one.latencies_ns)).collect();
        let first = all.into_iter().next()?;
        Some(Self { packets_per_s, dropped_share, walks_per_packet, latencies_ns, ..first })
    }
}

/// Shares of the time for which a read waited at the head of its queue, by what it waited for.
struct Waited {
    tags: f64,
    completion_buffer: f64,
    credits: f64,
}

impl Waited {
    fn between(before: &Counted, after: &Counted, elapsed_ns: f64) -> Self {
        let share = |of: fn(&Counted) -> Picoseconds| of(after).since(of(before)).as_ns() / elapsed_ns;
        Self {
            tags: share(|one| one.tags_waited),
            completion_buffer: share(|one| one.completion_buffer_waited),
            credits: share(|one| one.non_posted_waited),
        }
    }

    fn all(&self) -> f64 {
        self.tags + self.completion_buffer + self.credits
    }

    fn bound(&self) -> NicBound {
        if self.completion_buffer > self.tags.max(self.credits) {
            NicBound::CompletionBuffer
        } else if self.credits > self.tags {
            NicBound::NonPostedCredits
        } else {
            NicBound::Tags
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Accesses {
    count: u64,
    time: Picoseconds,
}

#[derive(Debug)]
struct Begin {
    at: Picoseconds,
    finished: u64,
    counted: Counted,
}

/// The measurements of a running NIC.
#[derive(Debug)]
pub(super) struct Measured {
    begin: Option<Begin>,
    steps: Vec<Accesses>,
    latencies_ns: Vec<f64>,
    arrived: u64,
    dropped: u64,
    dropped_in_a_row: u64,
    /// What held each path back since when, and the times so far.
    holding: [Option<(Held, Picoseconds)>; 2],
    held: [Picoseconds; Held::ALL.len()],
}

impl Measured {
    pub(super) fn new(steps: usize) -> Self {
        Self {
            begin: None,
            steps: vec![Accesses::default(); steps],
            latencies_ns: Vec::new(),
            arrived: 0,
            dropped: 0,
            dropped_in_a_row: 0,
            holding: [None; 2],
            held: [Picoseconds::ZERO; Held::ALL.len()],
        }
    }

    /// Records what holds a path back from now on.
    pub(super) fn holds(&mut self, path: usize, held: Option<Held>, now: Picoseconds) {
        if self.holding[path].map(|(held, _)| held) == held {
            return;
        }
        if let Some((held, since)) = self.holding[path].take() {
            self.held[held as usize] += now.since(since);
        }
        self.holding[path] = held.map(|held| (held, now));
    }

    /// The resource of the NIC that holds packets back for most of the time, if one does for half of it, or long
    /// enough for packets from the line to be dropped meanwhile.
    fn held_by(&mut self, now: Picoseconds, elapsed_ns: f64) -> Option<NicBound> {
        (0..self.holding.len()).for_each(|path| self.holds(path, None, now));
        let longest = Held::ALL.into_iter().max_by_key(|held| self.held[*held as usize])?;
        let enough = if self.dropped > 0 { DROPPING } else { WAITING };
        (self.held[longest as usize].as_ns() / elapsed_ns >= enough).then(|| longest.bound())
    }

    pub(super) fn is_counting(&self) -> bool {
        self.begin.is_some()
    }

    pub(super) fn start(&mut self, at: Picoseconds, finished: u64, counted: Counted) {
        *self = Self::new(self.steps.len());
        self.begin = Some(Begin { at, finished, counted });
    }

    pub(super) fn access(&mut self, step: usize, took: Picoseconds) {
        self.steps[step].count += 1;
        self.steps[step].time += took;
    }

    pub(super) fn received(&mut self, took: Picoseconds) {
        self.latencies_ns.push(took.as_ns());
    }

    pub(super) fn arrived(&mut self, let_in: bool) {
        self.arrived += 1;
        self.dropped += u64::from(!let_in);
        self.dropped_in_a_row = if let_in { 0 } else { self.dropped_in_a_row + 1 };
    }

    pub(super) fn dropped_in_a_row(&self) -> u64 {
        self.dropped_in_a_row
    }

    /// The results from the start until `now`.
    pub(super) fn outcome(
        mut self,
        nic: &Interactions,
        now: Picoseconds,
        finished: u64,
        counted: &Counted,
        interval: Picoseconds,
    ) -> NicOutcome {
        let begin = self.begin.take().unwrap_or(Begin {
            at: Picoseconds::ZERO,
            finished: 0,
            counted: Counted { crossed: vec![Crossed::default(); nic.steps.len()], ..Counted::default() },
        });
        let elapsed = now.since(begin.at);
        let elapsed_ns = elapsed.as_ns().max(1e-3);
        let held_by = self.held_by(now, elapsed_ns);
        let packets = (finished - begin.finished) as f64;
        let share = |now: Picoseconds, then: Picoseconds| now.since(then).as_ns() / elapsed_ns;
        let packets_per_s = packets * 1e9 / elapsed_ns;
        let line_packets_per_s = 1e9 / interval.as_ns();
        let dropped_share = if self.arrived > 0 { self.dropped as f64 / self.arrived as f64 } else { 0.0 };
        let upstream_share = share(counted.uplink_busy, begin.counted.uplink_busy);
        let downstream_share = share(counted.downlink_busy, begin.counted.downlink_busy);
        let reads_waited = Waited::between(&begin.counted, counted, elapsed_ns);
        let credits_waited = share(counted.credits_waited, begin.counted.credits_waited);
        let host = counted.host.since(&begin.counted.host);
        let walking = host.walkers_share(elapsed_ns);
        let bound = match () {
            () if packets_per_s >= AT_LINE_RATE * line_packets_per_s && self.dropped == 0 => NicBound::Line,
            () if upstream_share >= FULL && upstream_share >= downstream_share => NicBound::WireUpstream,
            () if downstream_share >= FULL => NicBound::WireDownstream,
            () if walking >= WALKING => NicBound::Translation,
            () if host.memory.as_ns() / elapsed_ns >= BUSY => NicBound::Memory,
            () if host.pool_share(elapsed_ns) >= BUSY => NicBound::WritePool,
            () if credits_waited >= WAITING && credits_waited >= reads_waited.all() => {
                NicBound::PostedCredits
            }
            () if reads_waited.all() >= WAITING => reads_waited.bound(),
            () => held_by.unwrap_or(if self.dropped > 0 { NicBound::ReceiveFifo } else { NicBound::Latency }),
        };
        let steps = self.steps.iter().zip(&counted.crossed).zip(&begin.counted.crossed);
        let steps = steps.map(|((accesses, crossed), before)| StepOutcome {
            upstream_bytes: (crossed.upstream_bytes - before.upstream_bytes) as f64 / packets,
            downstream_bytes: (crossed.downstream_bytes - before.downstream_bytes) as f64 / packets,
            mean_ns: if accesses.count > 0 { accesses.time.as_ns() / accesses.count as f64 } else { 0.0 },
            in_flight: accesses.time.as_ns() / elapsed_ns,
            accesses_per_s: accesses.count as f64 * 1e9 / elapsed_ns,
        });
        NicOutcome {
            packets_per_s,
            line_packets_per_s,
            dropped_share,
            latencies_ns: self.latencies_ns,
            upstream_share,
            downstream_share,
            bound,
            walks_per_packet: host.walks as f64 / packets,
            steps: steps.collect(),
        }
    }
}
