//! What follows when a message arrives, and the messages that a request sends.

use pcie_time::Picoseconds;

use super::{Arrival, Machine, SOURCE_TLPS, State, engine_of};
use crate::simulate::event::Event;
use crate::simulate::flow::Flow;
use crate::simulate::network::{Message, Tlp};
use crate::simulate::traffic::Primitive;

impl Machine {
    /// A TLP is at its destination; returns the request that is done by it.
    pub(super) fn delivered(&mut self, now: Picoseconds, tlp: Tlp) -> Option<u32> {
        let number = tlp.request();
        let primitive = self.state.flow(number).primitive;
        match tlp.message() {
            Message::Command => self.command(now, number),
            Message::Completion => {
                let done = self.state.at_host(now, number, tlp.length());
                self.events.push(done, Event::Done(number).into());
            }
            Message::Ask => {
                let ready = self.state.look_up(now, number, tlp.length());
                self.events.push(ready, Event::Inject(self.state.data(number, tlp.length())).into());
            }
            Message::Acknowledgement => self.inject(now, self.state.completion(number)),
            Message::Data if matches!(primitive, Primitive::D2dWrite | Primitive::MmioWrite) => {
                let written = self.state.write_bar(now, number, tlp.length());
                self.events.push(written, Event::Written(number, tlp.length()).into());
            }
            Message::Data => {
                self.state.count(now, number, tlp.length());
                return self.data_arrived(now, number, tlp.length());
            }
        }
        None
    }

    fn data_arrived(&mut self, now: Picoseconds, number: u32, bytes: u16) -> Option<u32> {
        let state = &mut self.state;
        match state.flow(number).primitive {
            Primitive::MmioRead => {
                if state.arrive(number, bytes) {
                    return Some(number);
                }
                self.ask_for_line(now, number);
            }
            Primitive::H2d | Primitive::D2dRead => self.take_data(now, number, bytes),
            Primitive::DmaWrite => {
                let there = state.at_host(now, number, bytes);
                if state.arrive(number, bytes) {
                    self.events.push(there, Event::Done(number).into());
                }
            }
            // It is done when its completion comes, which goes to the socket behind the data.
            Primitive::D2h => {
                state.at_host(now, number, bytes);
                state.arrive(number, bytes);
            }
            Primitive::Stream | Primitive::MmioWrite | Primitive::D2dWrite => {}
        }
        None
    }

    /// Data that a device asked for have come; the last of them complete the command.
    fn take_data(&mut self, now: Picoseconds, number: u32, bytes: u16) {
        let state = &mut self.state;
        let flow = &state.flows[state.requests[number as usize].flow as usize];
        let engine = engine_of(&mut state.engines, flow);
        let in_flight = if flow.peer { &mut engine.peer_requests } else { &mut engine.host_requests };
        debug_assert!(*in_flight > 0, "data of request {number} came that nobody asked for");
        *in_flight -= 1;
        if state.arrive(number, bytes) {
            let stored = now + state.flow(number).times.engine_memory;
            self.events.push(stored, Event::Inject(state.completion(number)).into());
        }
        self.transfer(now, number);
    }

    /// Data have been written to a device from outside; returns the request that is done by it.
    pub(super) fn written(&mut self, now: Picoseconds, number: u32, bytes: u16) -> Option<u32> {
        let state = &mut self.state;
        state.count(now, number, bytes);
        let last = state.arrive(number, bytes);
        if state.flow(number).primitive == Primitive::MmioWrite {
            return last.then_some(number);
        }
        let flow = &state.flows[state.requests[number as usize].flow as usize];
        let engine = engine_of(&mut state.engines, flow);
        debug_assert!(engine.peer_requests > 0, "request {number} wrote what no engine sent");
        engine.peer_requests -= 1;
        if last {
            let acknowledgement = state.acknowledgement(number);
            self.inject(now, acknowledgement);
        }
        self.transfer(now, number);
        None
    }
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

    /// Whether nothing of a request is under way: all of it has been started, and has arrived. What a stream sends is on
    /// its own.
    pub(super) fn is_whole(&self, number: u32) -> bool {
        let request = &self.requests[number as usize];
        let is_stream = self.flow(number).primitive == Primitive::Stream;
        is_stream || (request.to_start == 0 && request.to_arrive == 0)
    }

    /// The next TLP that an engine sends, if it has room for one, and the completion that follows the data of a D2H.
    pub(super) fn next_transfer(&mut self, place: usize) -> Option<(Tlp, Option<Tlp>)> {
        let engine = self.engines[place].as_mut()?;
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
        let completes = request.to_start == 0 && flow.primitive == Primitive::D2h;
        let bytes = bytes as u16;
        let tlp = if writes { self.data(number, bytes) } else { self.ask(number, bytes) };
        Some((tlp, completes.then(|| self.completion(number))))
    }

    /// When what a read asks for has come out of its memory.
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

    /// When what has come to a host is at the socket that it is for.
    fn at_host(&mut self, now: Picoseconds, number: u32, bytes: u16) -> Picoseconds {
        let Flow { times, host, .. } = &self.flows[self.requests[number as usize].flow as usize];
        if times.other_socket == Picoseconds::ZERO {
            return now;
        }
        self.sides[*host].write(now, times.other_socket_byte.of(bytes.into())) + times.other_socket
    }

    /// When a BAR has put the data of a write into the memory.
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
        if now >= self.counting_from {
            self.flow_mut(number).delivered_bytes += u64::from(bytes);
        }
    }

    /// Notes bytes of a request that have arrived; says whether they were the last.
    pub(super) fn arrive(&mut self, number: u32, bytes: u16) -> bool {
        let request = &mut self.requests[number as usize];
        if let Some(arrivals) = &mut self.arrivals {
            let offset = request.size_bytes - request.to_arrive;
            arrivals.push(Arrival { request: number, offset, bytes });
        }
        debug_assert!(request.to_arrive >= u64::from(bytes), "request {number} gets more than it asked for");
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

    pub(super) fn completion(&self, request: u32) -> Tlp {
        let flow = self.flow(request);
        let length = flow.completion_bytes;
        Tlp::new(flow.paths.completion, request, Message::Completion, length)
    }
}
