//! Requests: their messages, in order, and the start and end of each phase.
//!
//! A host's command crosses the fabric to the command queue of the engine; the engine transfers the data;
//! then it writes a status to the host. The status of a D2H follows its data on the same path at no extra
//! time. That of a write to another device takes another path than the data: it waits for the device's
//! acknowledgement, unless the device posts such writes. Then the request is done when both are there.
//!
//! A machine runs until a request is done; then its driver decides. [`load`](super::load) keeps flows at
//! their outstanding requests, the runtime submits a program's requests.

mod request;
mod state;

pub(crate) use request::{Arrival, Request};

use pcie_time::{CalendarQueue, Picoseconds};

use self::state::{SOURCE_TLPS, State, engine_of};
use super::engine::{Side, engines, intakes};
use super::event::{Event, PackedEvent};
use super::flow::Flow;
use super::network::{Discipline, Message, Network, Tlp};
use super::traffic::{Placed, Primitive};
use crate::topology::Topology;

/// Events between two looks for a stop: less than a millisecond.
const EVENTS_BETWEEN_LOOKS: u32 = 4096;

/// A simulation.
#[derive(Debug)]
pub(crate) struct Machine {
    network: Network,
    events: CalendarQueue<PackedEvent>,
    state: State,
}

impl Machine {
    /// A machine that counts no bytes and loads until [`Self::count_from`].
    pub fn new(topology: &Topology, discipline: Discipline) -> Self {
        Self {
            network: Network::new(topology, discipline),
            events: CalendarQueue::default(),
            state: State {
                mps_bytes: topology.mps_bytes().into(),
                flows: vec![],
                requests: vec![],
                engines: engines(topology),
                intakes: intakes(topology),
                sides: vec![Side::default(); topology.nodes().len()],
                counting_from: None,
                arrivals: None,
            },
        }
    }

    /// Counts bytes and loads from `from` on.
    pub fn count_from(&mut self, from: Picoseconds) {
        self.state.counting_from = Some(from);
        self.network.count_from(from);
    }

    pub fn add_flow(&mut self, topology: &Topology, placed: &Placed) -> u32 {
        let number = self.state.flows.len() as u32;
        self.state.flows.push(Flow::new(topology, &mut self.network, number, placed));
        number
    }

    /// Adds a request to a flow; it may be submitted again once it is done.
    pub fn add_request(&mut self, flow: u32) -> u32 {
        self.state.requests.push(Request { flow, ..Request::default() });
        self.state.requests.len() as u32 - 1
    }

    /// Sets the size of an idle request; `segments` are the sizes of a list, empty for one piece.
    pub fn set_size(&mut self, request: u32, size_bytes: u64, segments: Vec<u64>) {
        let request = &mut self.state.requests[request as usize];
        (request.size_bytes, request.segments) = (size_bytes, segments);
    }

    pub fn submit(&mut self, at: Picoseconds, request: u32) {
        self.events.push(at, Event::Submit(request).into());
    }

    /// Records arrivals from now on, for [`Self::take_arrivals`].
    pub fn note_arrivals(&mut self) {
        self.state.arrivals = Some(vec![]);
    }

    /// The arrivals since the last call, in order.
    pub fn take_arrivals(&mut self) -> Vec<Arrival> {
        self.state.arrivals.as_mut().map(std::mem::take).unwrap_or_default()
    }

    pub fn request(&self, number: u32) -> &Request {
        &self.state.requests[number as usize]
    }

    /// The rate of a flow over a time in which counting went on, GB/s.
    ///
    /// Data that arrive at the start of the time passed the narrowest edge of their path before it. What is more than
    /// that edge passes in the time is not counted.
    pub fn rate_gbytes_per_s(&self, flow: u32, span_ns: f64) -> f64 {
        let Flow { delivered_bytes, narrowest_gbytes_per_s, .. } = &self.state.flows[flow as usize];
        (*delivered_bytes as f64 / span_ns).min(*narrowest_gbytes_per_s)
    }

    /// Bytes that each edge sent since counting began.
    pub fn sent_bytes(&self) -> impl Iterator<Item = u64> + '_ {
        self.network.sent_bytes()
    }

    /// TLP hops since the start.
    pub fn tlp_hops(&self) -> u64 {
        self.network.tlp_hops()
    }

    /// Runs until a request is done; returns the time and the request, or None if none is done until `end`.
    ///
    /// A stream's request is done as soon as its source has accepted it.
    pub fn run_until(&mut self, end: Picoseconds) -> Option<(Picoseconds, u32)> {
        self.run_unless(end, &mut || false)
    }

    /// The same until `stopped` returns true, which is asked between blocks of events: then None.
    pub fn run_unless(
        &mut self,
        end: Picoseconds,
        stopped: &mut dyn FnMut() -> bool,
    ) -> Option<(Picoseconds, u32)> {
        for handled in 1_u32.. {
            let (now, event) = self.events.pop_until(end)?;
            if let Some(done) = self.handle(now, event.into()) {
                debug_assert!(self.state.is_whole(done), "request {done} is done with bytes left");
                return Some((now, done));
            }
            if handled.is_multiple_of(EVENTS_BETWEEN_LOOKS) && stopped() {
                return None;
            }
        }
        None
    }

    /// Handles an event; returns the request that it completes.
    fn handle(&mut self, now: Picoseconds, event: Event) -> Option<u32> {
        match event {
            Event::Network(event) => self.network.handle(now, event, &mut self.state, &mut self.events),
            Event::Inject(tlp) => self.inject(now, tlp),
            Event::Delivered(tlp) => return self.delivered(now, tlp),
            Event::Submit(request) => return self.begin(now, request),
            Event::Command(request) => self.command(now, request),
            Event::Executed(request) => self.executed(now, request),
            Event::Written(request, bytes) => return self.written(now, request, bytes),
            Event::Done(request) => return Some(request),
            Event::Room(request) => return self.room(now, request),
        }
        None
    }

    fn inject(&mut self, now: Picoseconds, tlp: Tlp) {
        self.network.enqueue(now, tlp, &mut self.state, &mut self.events);
    }

    fn begin(&mut self, now: Picoseconds, number: u32) -> Option<u32> {
        let state = &mut self.state;
        debug_assert!(state.is_whole(number), "request {number} is submitted while in flight");
        let request = &mut state.requests[number as usize];
        (request.submitted, request.sent, request.at_device) = (now, now, Picoseconds::ZERO);
        request.reached = None;
        (request.to_start, request.to_arrive) = (request.size_bytes, request.size_bytes);
        (request.segments_begun, request.segment_left) = (0, 0);
        request.has_status = false;
        let flow = &state.flows[request.flow as usize];
        match flow.primitive {
            Primitive::Stream => return self.stream(now, number),
            Primitive::MmioRead => self.ask_for_line(now, number),
            Primitive::MmioWrite => self.write_lines(now, number),
            Primitive::DmaWrite => {
                request.sent = now + flow.times.software;
                self.events.push(request.sent, Event::Command(number).into());
            }
            Primitive::H2d | Primitive::D2h | Primitive::D2dRead | Primitive::D2dWrite => {
                request.sent = now + flow.times.software;
                let leaves_socket = request.sent + flow.times.other_socket;
                self.events.push(leaves_socket, Event::Inject(state.command(number)).into());
            }
        }
        None
    }

    /// Queues a TLP of a stream at its source, or waits for room there.
    fn stream(&mut self, now: Picoseconds, number: u32) -> Option<u32> {
        let tlp = self.state.data(number, self.state.mps_bytes as u16);
        let flow = self.state.flow_mut(number);
        if flow.at_source >= SOURCE_TLPS {
            flow.held = true;
            return None;
        }
        flow.at_source += 1;
        self.inject(now, tlp);
        Some(number)
    }

    /// The source of a flow has sent a TLP and has room for the next.
    fn room(&mut self, now: Picoseconds, number: u32) -> Option<u32> {
        let flow = self.state.flow_mut(number);
        if flow.primitive != Primitive::Stream {
            self.transfer(now, number);
            return None;
        }
        if std::mem::take(&mut flow.held) { self.stream(now, number) } else { None }
    }

    fn ask_for_line(&mut self, now: Picoseconds, number: u32) {
        let state = &mut self.state;
        let line = state.requests[number as usize].next_line();
        let one_way = state.flow(number).times.other_socket;
        self.events.push(now + one_way + one_way, Event::Inject(state.ask(number, line)).into());
    }

    fn write_lines(&mut self, now: Picoseconds, number: u32) {
        let delay = self.state.flow(number).times.other_socket;
        while self.state.requests[number as usize].to_start > 0 {
            let bytes = self.state.requests[number as usize].next_line();
            self.events.push(now + delay, Event::Inject(self.state.data(number, bytes)).into());
        }
    }

    /// A command reaches its engine, which executes its segments one after another.
    fn command(&mut self, now: Picoseconds, number: u32) {
        let state = &mut self.state;
        let request = &mut state.requests[number as usize];
        request.reached = Some(now);
        let flow = &state.flows[request.flow as usize];
        // Two engines a node.
        let taken = state.intakes[flow.engine / 2].take(now);
        let engine = engine_of(&mut state.engines, flow);
        let fetch = if flow.writes { flow.times.engine_memory } else { Picoseconds::ZERO };
        let whole = [request.size_bytes];
        let segments = if request.segments.is_empty() { &whole[..] } else { &request.segments };
        for (index, size_bytes) in segments.iter().enumerate() {
            let executed = engine.accept(taken, *size_bytes) + fetch;
            if index == 0 {
                request.at_device = executed.since(now);
            }
            self.events.push(executed, Event::Executed(number).into());
        }
    }

    fn executed(&mut self, now: Picoseconds, number: u32) {
        let state = &mut self.state;
        let request = &mut state.requests[number as usize];
        let size_bytes = request.next_segment();
        let flow = &state.flows[request.flow as usize];
        engine_of(&mut state.engines, flow).executed(flow.queue, number, size_bytes);
        self.transfer(now, number);
    }

    /// Starts all transfers that the engine of a request has room for.
    fn transfer(&mut self, now: Picoseconds, served: u32) {
        let engine = self.state.flow(served).engine;
        while let Some((tlp, status)) = self.state.next_transfer(engine) {
            self.inject(now, tlp);
            if let Some(status) = status {
                self.inject(now, status);
            }
        }
    }

    /// Handles a TLP at its destination; returns the request that it completes.
    fn delivered(&mut self, now: Picoseconds, tlp: Tlp) -> Option<u32> {
        let number = tlp.request();
        let primitive = self.state.flow(number).primitive;
        match tlp.message() {
            Message::Command => self.command(now, number),
            Message::Status => {
                let done = self.state.at_host(now, number, tlp.length());
                let request = &mut self.state.requests[number as usize];
                request.has_status = true;
                if request.to_arrive == 0 {
                    self.events.push(done, Event::Done(number).into());
                }
            }
            Message::Ask => {
                let ready = self.state.look_up(now, number, tlp.length());
                self.events.push(ready, Event::Inject(self.state.data(number, tlp.length())).into());
            }
            Message::Acknowledgement => self.inject(now, self.state.status(number)),
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
            // Done when its status arrives, which follows the data to the socket.
            Primitive::D2h => {
                state.at_host(now, number, bytes);
                state.arrive(number, bytes);
            }
            Primitive::Stream | Primitive::MmioWrite | Primitive::D2dWrite => {}
        }
        None
    }

    /// Takes data that a device asked for; the last of them complete the command.
    fn take_data(&mut self, now: Picoseconds, number: u32, bytes: u16) {
        let state = &mut self.state;
        let flow = &state.flows[state.requests[number as usize].flow as usize];
        let engine = engine_of(&mut state.engines, flow);
        let in_flight = if flow.peer { &mut engine.peer_requests } else { &mut engine.host_requests };
        debug_assert!(*in_flight > 0, "unrequested data of request {number}");
        *in_flight -= 1;
        if state.arrive(number, bytes) {
            let times = state.flow(number).times;
            let stored = now + times.engine_memory + times.retire;
            self.events.push(stored, Event::Inject(state.status(number)).into());
        }
        self.transfer(now, number);
    }

    /// Handles data written to a device from outside; returns the request that they complete.
    fn written(&mut self, now: Picoseconds, number: u32, bytes: u16) -> Option<u32> {
        let state = &mut self.state;
        state.count(now, number, bytes);
        let last = state.arrive(number, bytes);
        if state.flow(number).primitive == Primitive::MmioWrite {
            return last.then_some(number);
        }
        let flow = &state.flows[state.requests[number as usize].flow as usize];
        let engine = engine_of(&mut state.engines, flow);
        debug_assert!(engine.peer_requests > 0, "request {number} wrote data that no engine sent");
        engine.peer_requests -= 1;
        let (posted, has_status) = (flow.posted, state.requests[number as usize].has_status);
        if last && !posted {
            let acknowledgement = state.acknowledgement(number);
            self.inject(now, acknowledgement);
        } else if last && has_status {
            self.events.push(now, Event::Done(number).into());
        }
        self.transfer(now, number);
        None
    }
}
