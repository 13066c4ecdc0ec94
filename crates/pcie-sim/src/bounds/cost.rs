//! The average cost of a test's transfers to the link and its two ports, over the units that the test visits.

use super::sampled::sampled_offsets;
use crate::link::port::Port;
use crate::machine::Machine;
use pcie_model::{Load, lines_of};
use pcie_time::Picoseconds;
use pcie_wire::{Accounting, CompletionPolicy, CompletionSpace, Piece, TlpKind};
use pcie_workload::{Operation, Test};

/// The cost of an average transfer; of a read and a write together, where the test does both.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cost {
    pub(super) load: Load,
    /// Time for which each port is busy.
    pub(super) device_port_ns: f64,
    pub(super) root_port_ns: f64,
    /// Least and most space for completions that a request reserves.
    pub(super) spaces: Option<(CompletionSpace, CompletionSpace)>,
    /// Serialisation times of requests and their completions, on idle ports.
    pub(super) requests_ns: f64,
    pub(super) answers_ns: f64,
    /// The data engine's time for a read and for a write, and the serialisation time of a write's last TLP.
    pub(super) moved_ns: f64,
    pub(super) pulled_ns: f64,
    pub(super) last_tlp_ns: f64,
}

impl Cost {
    pub(super) fn of(machine: &Machine, test: &Test) -> Self {
        let mut ports = machine.ports();
        let (mut total, mut count) = (Self::default(), 0.0);
        for (read, written) in sampled_offsets(test) {
            if test.operation != Operation::BwWr {
                total.add_read(machine, &mut ports, read, test);
            }
            if test.operation.writes() {
                total.add_write(machine, &mut ports, written, test);
            }
            count += 1.0;
        }
        let (device_port, root_port) = ports;
        Self {
            load: total.load * (1.0 / count),
            device_port_ns: device_port.occupied_ns() / count,
            root_port_ns: root_port.occupied_ns() / count,
            spaces: total.spaces,
            requests_ns: total.requests_ns / count,
            answers_ns: total.answers_ns / count,
            moved_ns: total.moved_ns / count,
            pulled_ns: total.pulled_ns / count,
            last_tlp_ns: total.last_tlp_ns / count,
        }
    }

    fn add_read(&mut self, machine: &Machine, ports: &mut (Port, Port), offset: u64, test: &Test) {
        let (device_port, root_port) = ports;
        self.load.dmas += 1.0;
        for request in machine.read_requests(offset, test.size_bytes) {
            let bytes = machine.tlp_bytes(TlpKind::MemoryRead, request);
            device_port.send(Picoseconds::ZERO, bytes);
            self.load.read_requests += 1.0;
            self.load.read_lines += lines_of(request);
            self.load.upstream_bytes += f64::from(bytes);
            let space = machine.completion_space(request);
            self.spaces = Some(self.spaces.map_or((space, space), |(least, most)| {
                (each(least, space, u32::min), each(most, space, u32::max))
            }));
            self.load.reserved_headers += f64::from(space.headers);
            self.load.reserved_bytes += f64::from(space.bytes);
            self.requests_ns += machine.sent_alone(TlpKind::MemoryRead, request);
            // The wire's bound assumes the specification's best split; the ports' bounds this host's.
            let best = machine.link_at(offset).completions(request, CompletionPolicy::AsLargeAsMps);
            for piece in best {
                self.load.completions += 1.0;
                self.load.downstream_bytes +=
                    f64::from(machine.tlp_bytes(TlpKind::CompletionWithData, piece));
            }
            let completion_bytes = |piece| machine.tlp_bytes(TlpKind::CompletionWithData, piece);
            for piece in machine.completions(request) {
                root_port.send(Picoseconds::ZERO, completion_bytes(piece));
                device_port.send_dllps(Picoseconds::ZERO, machine.uplink_dllp_bytes());
            }
            let (_, alone) = machine.ports();
            self.answers_ns += alone.least_ns(machine.completions(request).map(completion_bytes));
        }
        self.moved_ns += machine.move_time(test, offset, test.size_bytes).as_ns();
    }

    fn add_write(&mut self, machine: &Machine, ports: &mut (Port, Port), offset: u64, test: &Test) {
        let (device_port, root_port) = ports;
        let mut last_tlp_ns = 0.0;
        // The wire's bound assumes the fewest TLPs of the specification; all others those of this device.
        let fewest = Load::dma_write(machine.link_at(offset), Accounting::Spec, offset, test.size_bytes);
        self.load.dmas += 1.0;
        self.load.upstream_bytes += fewest.upstream_bytes;
        for tlp in machine.write_tlps(offset, test.size_bytes) {
            self.load = self.load + Load::received(tlp);
            device_port.send(Picoseconds::ZERO, machine.tlp_bytes(TlpKind::MemoryWrite, tlp));
            let gap_bytes = machine.write_gap_bytes(offset..offset + test.size_bytes, tlp);
            match test.operation {
                Operation::BwWr => device_port.leave_unit(gap_bytes),
                // Requests in between change the padding, so only the idle unit is certain.
                _ => device_port.send_dllps(Picoseconds::ZERO, gap_bytes),
            }
            root_port.send_dllps(Picoseconds::ZERO, machine.downlink_dllp_bytes());
            last_tlp_ns = machine.sent_alone(TlpKind::MemoryWrite, tlp);
        }
        self.last_tlp_ns += last_tlp_ns;
        self.pulled_ns += machine.pull_time(test, 0, test.size_bytes).as_ns();
    }
}

/// Combines two spaces, kind by kind.
fn each(one: CompletionSpace, other: CompletionSpace, combine: impl Fn(u32, u32) -> u32) -> CompletionSpace {
    CompletionSpace { headers: combine(one.headers, other.headers), bytes: combine(one.bytes, other.bytes) }
}

impl Machine {
    /// Serialisation time of a TLP on the device's idle port.
    fn sent_alone(&self, kind: TlpKind, piece: Piece) -> f64 {
        let (port, _) = self.ports();
        port.least_ns(std::iter::once(self.tlp_bytes(kind, piece)))
    }
}
