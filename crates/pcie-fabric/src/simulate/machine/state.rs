//! The state of a machine: flows, requests and engines, and the messages that follow from it.

use pcie_time::{CalendarQueue, Picoseconds};

use super::request::{Arrival, Request};
use crate::simulate::engine::{Engine, Intake, Side};
use crate::simulate::event::{Event, PackedEvent};
use crate::simulate::flow::Flow;
use crate::simulate::network::{Listener, Message, Tlp};
use crate::simulate::traffic::Primitive;

/// TLPs that a source queues at its port while the port sends; more would only delay others.
pub(super) const SOURCE_TLPS: usize = 1;

#[derive(Debug)]
pub(super) struct State {
    pub(super) mps_bytes: u64,
    pub(super) flows: Vec<Flow>,
    pub(super) requests: Vec<Request>,
    pub(super) engines: Vec<Option<Engine>>,
    /// By node: the commands that a device takes in.
    pub(super) intakes: Vec<Intake>,
    /// By node: the BARs of a device, or the link between a host's sockets.
    pub(super) sides: Vec<Side>,
    /// None before counting.
    pub(super) counting_from: Option<Picoseconds>,
    /// Arrivals since they were last taken; none where they are not recorded.
    pub(super) arrivals: Option<Vec<Arrival>>,
}

impl Listener for State {
    type Event = PackedEvent;

    fn delivered(&mut self, at: Picoseconds, tlp: Tlp, events: &mut CalendarQueue<PackedEvent>) {
        events.push(at, Event::Delivered(tlp).into());
    }

    fn left(&mut self, now: Picoseconds, tlp: Tlp, events: &mut CalendarQueue<PackedEvent>) {
        let flow = &mut self.flows[self.requests[tlp.request() as usize].flow as usize];
        if tlp.message() == Message::Data && flow.produces() {
            flow.at_source -= 1;
            events.push(now, Event::Room(tlp.request()).into());
        }
    }
}

/// The engine that executes the commands of a flow and moves its data.
#[expect(
    clippy::expect_used,
    reason = "flows with commands use devices only, and each device has its engines"
)]
pub(super) fn engine_of<'a>(engines: &'a mut [Option<Engine>], flow: &Flow) -> &'a mut Engine {
    engines[flow.engine].as_mut().expect("commands go to devices only")
}

impl State {
    #[inline]
    pub(super) fn flow(&self, request: u32) -> &Flow {
        &self.flows[self.requests[request as usize].flow as usize]
    }

    #[inline]
    pub(super) fn flow_mut(&mut self, request: u32) -> &mut Flow {
        &mut self.flows[self.requests[request as usize].flow as usize]
    }

    /// Whether all bytes of a request have been started and have arrived; always true for streams.
    pub(super) fn is_whole(&self, number: u32) -> bool {
        let request = &self.requests[number as usize];
        let is_stream = self.flow(number).primitive == Primitive::Stream;
        is_stream || (request.to_start == 0 && request.to_arrive == 0)
    }

    /// The next TLP that an engine sends, if it has room for one, and the status behind the last data of a
    /// posted write.
    pub(super) fn next_transfer(&mut self, engine: usize) -> Option<(Tlp, Option<Tlp>)> {
        let engine = self.engines[engine].as_mut()?;
        let (requests, flows) = (&mut self.requests, &mut self.flows);
        let (number, bytes) = engine.start(self.mps_bytes, |engine, number| {
            let flow = &flows[requests[number as usize].flow as usize];
            engine.has_room(flow.peer, flow.writes) && (!flow.writes || flow.at_source < SOURCE_TLPS)
        })?;
        let request = &mut requests[number as usize];
        let flow = &mut flows[request.flow as usize];
        let (peer, writes) = (flow.peer, flow.writes);
        engine.peer_requests += u32::from(peer);
        engine.host_requests += u32::from(!peer && !writes);
        flow.at_source += usize::from(writes);
        request.to_start -= bytes;
        let completes = request.to_start == 0 && flow.posted;
        let bytes = bytes as u16;
        let tlp = if writes { self.data(number, bytes) } else { self.ask(number, bytes) };
        Some((tlp, completes.then(|| self.status(number))))
    }

    /// Time at which the data of a read leave their memory.
    pub(super) fn look_up(&mut self, now: Picoseconds, number: u32, bytes: u16) -> Picoseconds {
        let request = &mut self.requests[number as usize];
        let Flow { primitive, times, bar, host, .. } = &self.flows[request.flow as usize];
        match primitive {
            Primitive::MmioRead => {
                request.at_device += times.bar_read;
                now + times.bar_read
            }
            Primitive::D2dRead => {
                self.sides[*bar].read(now, times.bar_read_byte.of(bytes.into())) + times.bar_read
            }
            _ if times.other_socket == Picoseconds::ZERO => now + times.host_memory_read,
            _ => {
                let there = now + times.other_socket + times.host_memory_read;
                self.sides[*host].read(there, times.other_socket_byte.of(bytes.into())) + times.other_socket
            }
        }
    }

    /// Time at which data that have reached a host are at their socket.
    pub(super) fn at_host(&mut self, now: Picoseconds, number: u32, bytes: u16) -> Picoseconds {
        let Flow { times, host, .. } = &self.flows[self.requests[number as usize].flow as usize];
        if times.other_socket == Picoseconds::ZERO {
            return now;
        }
        self.sides[*host].write(now, times.other_socket_byte.of(bytes.into())) + times.other_socket
    }

    /// Time at which the data of a write are in the memory behind a BAR.
    pub(super) fn write_bar(&mut self, now: Picoseconds, number: u32, bytes: u16) -> Picoseconds {
        let request = &mut self.requests[number as usize];
        let Flow { primitive, times, bar, .. } = &self.flows[request.flow as usize];
        let written = self.sides[*bar].write(now, times.bar_write_byte.of(bytes.into())) + times.bar_write;
        if *primitive == Primitive::MmioWrite {
            request.at_device = written.since(now);
        }
        written
    }

    pub(super) fn count(&mut self, now: Picoseconds, number: u32, bytes: u16) {
        if self.counting_from.is_some_and(|from| now >= from) {
            self.flow_mut(number).delivered_bytes += u64::from(bytes);
        }
    }

    /// Records arrived bytes of a request; returns whether they were the last.
    pub(super) fn arrive(&mut self, number: u32, bytes: u16) -> bool {
        let request = &mut self.requests[number as usize];
        if let Some(arrivals) = &mut self.arrivals {
            let offset = request.size_bytes - request.to_arrive;
            arrivals.push(Arrival { request: number, offset, bytes });
        }
        debug_assert!(
            request.to_arrive >= u64::from(bytes),
            "request {number} receives more than it asked for"
        );
        request.to_arrive -= u64::from(bytes);
        request.to_arrive == 0
    }

    pub(super) fn data(&self, request: u32, length: u16) -> Tlp {
        Tlp::new(self.flow(request).paths.data, request, Message::Data, length)
    }

    pub(super) fn command(&self, request: u32) -> Tlp {
        Tlp::new(self.flow(request).paths.command, request, Message::Command, 0)
    }

    pub(super) fn ask(&self, request: u32, length: u16) -> Tlp {
        Tlp::new(self.flow(request).paths.ask, request, Message::Ask, length)
    }

    pub(super) fn acknowledgement(&self, request: u32) -> Tlp {
        Tlp::new(self.flow(request).paths.acknowledgement, request, Message::Acknowledgement, 0)
    }

    pub(super) fn status(&self, request: u32) -> Tlp {
        let flow = self.flow(request);
        let length = flow.status_bytes;
        Tlp::new(flow.paths.status, request, Message::Status, length)
    }
}
