//! The closed form.

use indexmap::IndexMap;
use pcie_refusal::Refusal;
use pcie_wire::TlpKind;

use super::{Access, AccessBound, AccessTimes, Between, Corner, Instruction, Mmio, MmioValues};

/// Times of an access in one corner.
struct Times {
    core_ns: f64,
    done_ns: f64,
    gbytes_per_s: f64,
    bound: AccessBound,
    ceilings: Vec<(AccessBound, f64)>,
}

impl Mmio {
    /// What accesses of one kind cost.
    ///
    /// # Errors
    /// An access is out of range, or the core has no such instruction.
    pub fn times(&self, access: &Access) -> Result<AccessTimes, Refusal> {
        access.check(self)?;
        let [usual, fast, slow] = [Corner::Usual, Corner::Fast, Corner::Slow].map(|corner| {
            let values = self.values(corner);
            At { mmio: self, access, values }.times()
        });
        let values = self.values(Corner::Usual);
        let between = |usual: f64, one: f64, other: f64| Between {
            least: one.min(usual),
            usual,
            most: other.max(usual),
        };
        let rate = between(usual.gbytes_per_s, slow.gbytes_per_s, fast.gbytes_per_s);
        let (downstream_bytes, upstream_bytes) = self.link_bytes(access, &values);
        let mut ceilings: Vec<_> = usual.ceilings;
        ceilings.sort_by(|one, other| one.1.total_cmp(&other.1));
        Ok(AccessTimes {
            instruction: access.instruction,
            size_bytes: access.size_bytes,
            width_bytes: access.width(),
            cores: access.cores,
            tlps: access.pieces(&values),
            downstream_bytes,
            upstream_bytes,
            core_ns: between(usual.core_ns, fast.core_ns, slow.core_ns),
            done_ns: between(usual.done_ns, fast.done_ns, slow.done_ns),
            gbytes_per_s: rate,
            bound: usual.bound,
            ceilings: ceilings
                .into_iter()
                .map(|(bound, rate)| (bound.to_string(), rate))
                .collect::<IndexMap<_, _>>(),
        })
    }

    /// Bytes of TLPs of one access, to the device and to the host.
    fn link_bytes(&self, access: &Access, values: &MmioValues) -> (u64, u64) {
        let count = access.pieces(values);
        let sum = |kind| {
            let piece = u64::from(self.tlp_bytes(kind, access.piece_bytes(values)));
            (count - 1) * piece + u64::from(self.tlp_bytes(kind, access.last_bytes(values)))
        };
        let requests = |data| count * u64::from(self.tlp_bytes(TlpKind::MemoryRead, data));
        let stores = sum(TlpKind::MemoryWrite);
        let loads = sum(TlpKind::CompletionWithData);
        match access.instruction {
            Instruction::UncachedLoad | Instruction::StreamingLoad => (requests(0), loads),
            Instruction::ReadModifyWrite => (requests(0) + stores, loads),
            Instruction::EnqueueStore => {
                (stores, count * u64::from(self.tlp_bytes(TlpKind::CompletionWithData, 0)))
            }
            Instruction::Exchange => (stores, stores),
            _ => (stores, 0),
        }
    }
}

/// An access in one corner.
struct At<'a> {
    mmio: &'a Mmio,
    access: &'a Access,
    values: MmioValues,
}

impl At<'_> {
    fn wire_ns(&self, kind: TlpKind, bytes: u32) -> f64 {
        self.mmio.wire_ns(kind, bytes, self.values.quantum_bytes)
    }

    /// TLPs of the device, whose port sends every byte.
    fn up_ns(&self, kind: TlpKind, bytes: u32) -> f64 {
        self.mmio.wire_ns(kind, bytes, 1)
    }

    fn times(&self) -> Times {
        let mut times = match self.access.instruction {
            Instruction::UncachedStore | Instruction::CombinedStore | Instruction::DirectStore => {
                self.stores()
            }
            Instruction::EnqueueStore => self.enqueued(),
            Instruction::UncachedLoad => self.loads(false),
            Instruction::ReadModifyWrite => self.loads(true),
            Instruction::StreamingLoad => self.streamed(),
            Instruction::Doorbell => self.doorbell(),
            Instruction::Exchange => self.exchange(),
        };
        let before = self.before_ns();
        times.core_ns += before;
        times.done_ns += before;
        if self.access.fenced {
            times.core_ns += self.values.fence_ns;
        }
        times
    }

    /// What comes before the access itself.
    fn before_ns(&self) -> f64 {
        let fault = if self.access.first_touch { self.values.page_fault_ns } else { 0.0 };
        let window =
            if self.access.window_set { self.values.uncached_ns + self.round_trip_ns(4) } else { 0.0 };
        fault + window
    }

    /// A load of `bytes`, alone.
    fn round_trip_ns(&self, bytes: u32) -> f64 {
        self.access.host_ns(&self.values)
            + self.wire_ns(TlpKind::MemoryRead, 0)
            + 2.0 * self.access.flight_ns(&self.values)
            + self.values.answer_ns
            + self.up_ns(TlpKind::CompletionWithData, bytes)
    }

    /// The rate of `costs`, each the time for `bytes` of all cores together.
    fn rated(core_ns: f64, done_ns: f64, bytes: f64, costs: Vec<(AccessBound, f64)>) -> Times {
        let ceilings: Vec<_> = costs.into_iter().map(|(bound, ns)| (bound, bytes / ns)).collect();
        let least = ceilings.iter().min_by(|one, other| one.1.total_cmp(&other.1));
        let (bound, gbytes_per_s) = least.copied().unwrap_or((AccessBound::WireDownstream, 0.0));
        Times { core_ns, done_ns, gbytes_per_s, bound, ceilings }
    }

    fn stores(&self) -> Times {
        let (access, values) = (self.access, &self.values);
        let cores = f64::from(access.cores);
        let piece = access.piece_bytes(values);
        let (count, last) = (access.pieces(values), access.last_bytes(values));
        let widest = self.mmio.core.loads.widest_bytes;
        let issue = access.issue_ns(values, widest, piece);
        let last_issue = access.issue_ns(values, widest, last);
        let usual = if count > 1 { piece } else { last };
        let wire = self.wire_ns(TlpKind::MemoryWrite, usual);
        let last_wire = self.wire_ns(TlpKind::MemoryWrite, last);
        let drain = f64::from(usual) * values.drain_byte_ns;
        let last_drain = f64::from(last) * values.drain_byte_ns;
        let flight = access.flight_ns(values);
        let combined = access.instruction == Instruction::CombinedStore;
        let buffers = if combined { u64::from(values.buffers) } else { u64::MAX };
        // TLPs that the port and the device hold.
        let held = |bytes: u32| u64::from((bytes / piece).max(1));
        let (queue, posted) = (held(values.queue_bytes), held(values.posted_bytes));
        let round = if combined { (values.release_ns + issue).max(buffers as f64 * issue) } else { 0.0 };
        let credit_round = wire + 2.0 * flight + drain;

        // The core alone: it fills buffers, and waits for each round of them.
        let full = count - 1;
        let own = if combined {
            let rounds = full / buffers;
            rounds as f64 * round + (full % buffers) as f64 * issue + last_issue
        } else {
            full as f64 * issue + last_issue
        };
        let first = if full > 0 { issue } else { last_issue };
        let all = count * u64::from(access.cores);
        // The start of the nth TLP on the link, from 1, by what comes behind the core.
        let start = |nth: u64| {
            let on_wire = first + (nth - 1) as f64 * wire;
            let rounds = (nth - 1) / posted;
            let within = ((nth - 1) % posted) as f64 * wire;
            let credited = first + rounds as f64 * credit_round + within.min(credit_round);
            let drained =
                if nth > posted { first + wire + 2.0 * flight + (nth - posted) as f64 * drain } else { 0.0 };
            on_wire.max(credited).max(drained)
        };
        let accepted = if all > queue { start(all - queue) } else { 0.0 };
        let core_ns = own.max(accepted);
        let last_start = core_ns.max(start(all));
        let drained = first + wire + flight + (all - 1) as f64 * drain;
        let done_ns =
            access.host_ns(values) / 2.0 + drained.max(last_start + last_wire + flight) + last_drain;

        let (issuing, released) = (issue / cores, round / buffers as f64 / cores);
        let by_core = if combined || access.instruction == Instruction::DirectStore {
            AccessBound::CoreStores
        } else {
            AccessBound::UncachedStores
        };
        let mut costs = vec![
            (by_core, issuing),
            (AccessBound::WireDownstream, wire),
            (AccessBound::PostedCredits, (wire + 2.0 * flight + drain) / posted as f64),
            (AccessBound::DeviceDrain, drain),
        ];
        if combined {
            costs.push((AccessBound::FillBuffers, released));
        }
        // A short access has one partial TLP only.
        let bytes = if full > 0 { f64::from(piece) } else { access.size_bytes as f64 };
        Self::rated(core_ns, done_ns, bytes, costs)
    }

    fn enqueued(&self) -> Times {
        let (access, values) = (self.access, &self.values);
        let wire = self.wire_ns(TlpKind::MemoryWrite, 64);
        let round_trip = access.host_ns(values)
            + wire
            + 2.0 * access.flight_ns(values)
            + values.answer_ns
            + self.up_ns(TlpKind::CompletionWithData, 0);
        let all = access.pieces(values) * u64::from(access.cores);
        let own = access.pieces(values) as f64 * round_trip;
        let core_ns = own.max(round_trip + (all - 1) as f64 * wire);
        let costs = vec![
            (AccessBound::RoundTrip, round_trip / f64::from(access.cores)),
            (AccessBound::WireDownstream, wire),
        ];
        // A command has 64 B; an access of fewer bytes is one command.
        let bytes = access.size_bytes.min(64) as f64;
        Self::rated(core_ns, core_ns, bytes, costs)
    }

    /// Loads one after the other, each with a store behind it if its value is `stored`.
    fn loads(&self, stored: bool) -> Times {
        let (access, values) = (self.access, &self.values);
        let count = access.pieces(values);
        let last = access.last_bytes(values);
        let width = if count > 1 { access.piece_bytes(values) } else { last };
        // The store leaves before the next request, which waits for it at the port.
        let store_wire = if stored { self.wire_ns(TlpKind::MemoryWrite, width) } else { 0.0 };
        let store_ns = if stored { values.uncached_ns } else { 0.0 };
        let trip = self.round_trip_ns(width) + store_ns;
        let last_trip = self.round_trip_ns(last) + store_ns;
        let own = (count - 1) as f64 * (trip + store_wire) + last_trip;
        let request = self.wire_ns(TlpKind::MemoryRead, 0) + store_wire;
        let answer = self.up_ns(TlpKind::CompletionWithData, width);
        let all = count * u64::from(access.cores);
        let core_ns = own.max(last_trip + (all - 1) as f64 * request.max(answer));
        let costs = vec![
            (AccessBound::RoundTrip, own / count as f64 / f64::from(access.cores)),
            (AccessBound::WireDownstream, request),
            (AccessBound::WireUpstream, answer),
        ];
        Self::rated(core_ns, core_ns, access.size_bytes as f64 / count as f64, costs)
    }

    fn streamed(&self) -> Times {
        let (access, values) = (self.access, &self.values);
        let count = access.pieces(values);
        let trip = self.round_trip_ns(64);
        let window = u64::from(values.streaming_lines);
        let request = self.wire_ns(TlpKind::MemoryRead, 0);
        let answer = self.up_ns(TlpKind::CompletionWithData, 64);
        let cores = f64::from(access.cores);
        let slower = request.max(answer);
        // A line waits for the one that leaves it its buffer, or for the link.
        let round = trip.max(window as f64 * slower * cores);
        let rest = count - 1;
        let by_rounds = (rest / window) as f64 * round + (rest % window) as f64 * request.max(answer);
        let on_link = (count * u64::from(access.cores) - 1) as f64 * slower;
        let core_ns = trip + by_rounds.max(on_link);
        let costs = vec![
            (AccessBound::StreamingLines, trip / window as f64 / cores),
            (AccessBound::WireDownstream, request),
            (AccessBound::WireUpstream, answer),
        ];
        let bytes = if rest > 0 { 64.0 } else { access.size_bytes as f64 };
        let mut times = Self::rated(core_ns, core_ns, bytes, costs);
        if rest == 0 {
            // One line at a time: nothing overlaps.
            times.gbytes_per_s = times.gbytes_per_s.min(bytes * cores / trip);
            times.bound = AccessBound::RoundTrip;
            times.ceilings.push((AccessBound::RoundTrip, bytes * cores / trip));
        }
        times
    }

    fn doorbell(&self) -> Times {
        let (access, values) = (self.access, &self.values);
        let bytes = access.size_bytes as u32;
        let wire = self.wire_ns(TlpKind::MemoryWrite, bytes);
        let taken = f64::from(bytes) * values.drain_byte_ns;
        let done_ns = access.host_ns(values) / 2.0 + wire + access.flight_ns(values) + taken;
        let cores = f64::from(access.cores);
        let costs = vec![
            (AccessBound::UncachedStores, values.uncached_ns / cores),
            (AccessBound::WireDownstream, wire),
        ];
        Self::rated(values.uncached_ns, done_ns, f64::from(bytes), costs)
    }

    fn exchange(&self) -> Times {
        let (access, values) = (self.access, &self.values);
        let bytes = access.size_bytes as u32;
        let core_ns = access.host_ns(values)
            + self.wire_ns(TlpKind::MemoryWrite, bytes)
            + 2.0 * access.flight_ns(values)
            + values.poll_ns
            + self.up_ns(TlpKind::MemoryWrite, bytes);
        let costs = vec![(AccessBound::RoundTrip, core_ns / f64::from(access.cores))];
        Self::rated(core_ns, core_ns, f64::from(bytes), costs)
    }
}
