//! Requests and what they do: which messages follow which, and when each phase begins and ends.
//!
//! A host's command crosses the fabric to the command queue of the engine; the engine transfers the data; then it writes
//! a completion to the host. A D2H's completion follows its data on the same way and so costs no time of its own.

mod state;

use state::engines;

use pcie_time::{Draws, EventQueue, Picoseconds};

use super::Options;
use super::engine::{BarPort, Engine};
use super::network::{Listener, Message, Network, NetworkEvent, Tlp};
use super::outcome::{FlowOutcome, Outcome, Phases};
use super::traffic::{Placed, Primitive, Traffic};
use crate::error::FabricError;
use crate::topology::Topology;

/// What a processor reads or writes at a time.
const LINE_BYTES: u64 = 64;
/// TLPs that a source keeps ready for its port; more would only wait there.
const SOURCE_TLPS: usize = 8;

#[derive(Debug, Clone, Copy)]
enum Event {
    Network(NetworkEvent),
    Delivered(Tlp),
    /// A TLP comes out of a memory and goes to its port.
    Inject(Tlp),
    Submit(u32),
    /// A command reaches its engine.
    Command(u32),
    /// The engine may start a request's transfers.
    Executed(u32),
    /// Data of a request have been written to a device.
    Written(u32, u32),
    /// A request is done.
    Done(u32),
    /// A path's source has room.
    Room(u32),
}

impl From<NetworkEvent> for Event {
    fn from(event: NetworkEvent) -> Self {
        Self::Network(event)
    }
}

/// The ways of a flow's messages.
#[derive(Debug, Clone, Copy, Default)]
struct Paths {
    command: u32,
    /// Requests without data, towards where the data are.
    ask: u32,
    data: u32,
    completion: u32,
}

#[derive(Debug)]
struct Flow {
    traffic: Traffic,
    placed: Placed,
    paths: Paths,
    /// Time between requests of a paced flow.
    interval_ns: Option<f64>,
    next_due_ns: f64,
    draws: Draws,
    drawn: u64,
    /// TLPs with data that wait for the first port.
    at_source: usize,
    /// Whether a stream waits for room at its source.
    held: bool,
    delivered_bytes: u64,
    outcome: FlowOutcome,
}

impl Flow {
    /// Whether the device's engine writes elsewhere.
    fn writes(&self) -> bool {
        matches!(self.traffic.primitive, Primitive::D2h | Primitive::DmaWrite | Primitive::D2dWrite)
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Request {
    flow: u32,
    submitted: Picoseconds,
    sent: Picoseconds,
    /// When its command reached the engine.
    arrived: Picoseconds,
    executed: Picoseconds,
    /// Bytes whose transfers have not been started.
    to_start: u64,
    /// Bytes that have not arrived.
    to_arrive: u64,
}

/// A simulation under way.
#[derive(Debug)]
pub(super) struct Simulation<'a> {
    network: Network,
    events: EventQueue<Event>,
    state: State<'a>,
}

#[derive(Debug)]
struct State<'a> {
    topology: &'a Topology,
    flows: Vec<Flow>,
    requests: Vec<Request>,
    /// Two of each node: the one that reads, the one that writes.
    engines: Vec<Option<Engine>>,
    bars: Vec<BarPort>,
    path_flow: Vec<u32>,
    first_request: Vec<u32>,
    count_from: Picoseconds,
    end: Picoseconds,
}

impl Listener for State<'_> {
    type Event = Event;

    fn delivered(&mut self, at: Picoseconds, tlp: Tlp, events: &mut EventQueue<Event>) {
        events.push(at, Event::Delivered(tlp));
    }

    fn left(&mut self, now: Picoseconds, path: u32, events: &mut EventQueue<Event>) {
        let flow = &mut self.flows[self.path_flow[path as usize] as usize];
        let produces = flow.traffic.primitive == Primitive::Stream || flow.writes();
        if produces && flow.paths.data == path {
            flow.at_source = flow.at_source.saturating_sub(1);
            events.push(now, Event::Room(path));
        }
    }
}

impl<'a> Simulation<'a> {
    pub fn new(topology: &'a Topology, traffic: &[Traffic], options: Options) -> Result<Self, FabricError> {
        let count_from = Picoseconds::from_ns(options.warm_up_ns);
        let mut network = Network::new(topology, options.discipline, count_from);
        let mut state = State {
            topology,
            flows: vec![],
            requests: vec![],
            engines: engines(topology),
            bars: topology.nodes().iter().map(|_| BarPort::default()).collect(),
            path_flow: vec![],
            first_request: vec![],
            count_from,
            end: count_from + Picoseconds::from_ns(options.duration_ns),
        };
        let mut events = EventQueue::default();
        for (number, traffic) in (0..).zip(traffic) {
            let flow = state.new_flow(&mut network, number, traffic, options.seed)?;
            state.flows.push(flow);
            state.first_request.push(state.requests.len() as u32);
            let outstanding = if traffic.primitive == Primitive::Stream { 1 } else { traffic.outstanding };
            for _ in 0..outstanding {
                let request = state.requests.len() as u32;
                state.requests.push(Request { flow: number, ..Request::default() });
                let due = state.next_due(number as usize, Picoseconds::ZERO);
                events.push(due, Event::Submit(request));
            }
        }
        Ok(Self { network, events, state })
    }

    pub fn run(mut self) -> Outcome {
        while let Some((now, event)) = self.events.pop() {
            if now > self.state.end {
                break;
            }
            self.handle(now, event);
        }
        let span_ns = (self.state.end - self.state.count_from).as_ns();
        let flows = self
            .state
            .flows
            .into_iter()
            .map(|flow| FlowOutcome { gbytes_per_s: flow.delivered_bytes as f64 / span_ns, ..flow.outcome });
        Outcome {
            flows: flows.collect(),
            load_gbytes_per_s: self.network.sent_bytes().map(|bytes| bytes as f64 / span_ns).collect(),
            tlp_hops: self.network.hops,
        }
    }

    fn handle(&mut self, now: Picoseconds, event: Event) {
        match event {
            Event::Network(event) => self.network.handle(now, event, &mut self.state, &mut self.events),
            Event::Inject(tlp) => self.inject(now, tlp),
            Event::Delivered(tlp) => self.delivered(now, tlp),
            Event::Submit(request) => self.submit(now, request),
            Event::Command(request) => self.command(now, request),
            Event::Executed(request) => {
                let (engine, _) = self.state.engine_of(request);
                if let Some(engine) = &mut self.state.engines[engine] {
                    engine.transferring.push_back(request);
                }
                self.transfer(now, request);
            }
            Event::Written(request, bytes) => self.written(now, request, bytes),
            Event::Done(request) => self.done(now, request),
            Event::Room(path) => self.room(now, path),
        }
    }

    fn inject(&mut self, now: Picoseconds, tlp: Tlp) {
        self.network.inject(now, tlp, &mut self.state, &mut self.events);
    }

    fn submit(&mut self, now: Picoseconds, number: u32) {
        let state = &mut self.state;
        let request = &mut state.requests[number as usize];
        let flow = &state.flows[request.flow as usize];
        let size_bytes = flow.traffic.size_bytes;
        *request = Request {
            flow: request.flow,
            submitted: now,
            sent: now,
            arrived: now,
            executed: now,
            to_start: size_bytes,
            to_arrive: size_bytes,
        };
        match flow.traffic.primitive {
            Primitive::Stream => self.stream(now, number),
            Primitive::MmioRead => self.ask_for_line(now, number),
            Primitive::MmioWrite => self.write_lines(now, number),
            _ => {
                let sent = now + Picoseconds::from_ns(state.host(number).software_ns);
                state.requests[number as usize].sent = sent;
                let command = Event::Inject(state.command(number));
                let direct = state.flow(number).traffic.primitive == Primitive::DmaWrite;
                self.events.push(sent, if direct { Event::Command(number) } else { command });
            }
        }
    }

    /// Keeps the source of a stream supplied, at its pace.
    fn stream(&mut self, now: Picoseconds, number: u32) {
        let tlp = self.state.data(number, self.state.topology.mps_bytes());
        let flow = self.state.requests[number as usize].flow as usize;
        if self.state.flows[flow].at_source >= SOURCE_TLPS {
            self.state.flows[flow].held = true;
            return;
        }
        self.state.flows[flow].at_source += 1;
        self.inject(now, tlp);
        let due = self.state.next_due(flow, now);
        self.events.push(due, Event::Submit(number));
    }

    fn ask_for_line(&mut self, now: Picoseconds, number: u32) {
        let state = &self.state;
        let line = state.requests[number as usize].to_arrive.min(LINE_BYTES) as u32;
        let around = state.to_other_socket(number) + state.to_other_socket(number);
        self.events.push(now + around, Event::Inject(state.ask(number, line)));
    }

    fn write_lines(&mut self, now: Picoseconds, number: u32) {
        let delay = self.state.to_other_socket(number);
        let size_bytes = self.state.requests[number as usize].to_arrive;
        for start in (0..size_bytes).step_by(LINE_BYTES as usize) {
            let bytes = LINE_BYTES.min(size_bytes - start) as u32;
            self.events.push(now + delay, Event::Inject(self.state.data(number, bytes)));
        }
    }

    fn command(&mut self, now: Picoseconds, number: u32) {
        let state = &mut self.state;
        let (engine, _) = state.engine_of(number);
        let size_bytes = state.requests[number as usize].to_start;
        let writes = state.flow(number).writes();
        let engine_ns = state.memory(number).engine_ns;
        let Some(engine) = &mut state.engines[engine] else { return };
        let mut executed = engine.accept(now, size_bytes);
        if writes {
            executed += Picoseconds::from_ns(engine_ns);
        }
        let request = &mut state.requests[number as usize];
        (request.arrived, request.executed) = (now, executed);
        self.events.push(executed, Event::Executed(number));
    }

    /// Starts as many transfers of the engine that serves a request as it has room for.
    fn transfer(&mut self, now: Picoseconds, served: u32) {
        let (place, _) = self.state.engine_of(served);
        while let Some(number) = self.next_transfer(place) {
            let state = &mut self.state;
            let (writes, peer) = (state.flow(number).writes(), state.flow(number).placed.peer.is_some());
            let request = &mut state.requests[number as usize];
            let flow = request.flow as usize;
            let bytes = request.to_start.min(u64::from(state.topology.mps_bytes())) as u32;
            request.to_start -= u64::from(bytes);
            let last = request.to_start == 0;
            if let Some(engine) = &mut state.engines[place] {
                engine.peer_requests += u32::from(peer);
                engine.host_requests += u32::from(!peer && !writes);
                if last {
                    engine.transferring.pop_front();
                }
            }
            state.flows[flow].at_source += usize::from(writes);
            let tlp = if writes { state.data(number, bytes) } else { state.ask(number, bytes) };
            self.inject(now, tlp);
            if last && self.state.flow(number).traffic.primitive == Primitive::D2h {
                let completion = self.state.completion(number);
                self.inject(now, completion);
            }
        }
    }

    /// The request whose transfers an engine is starting, if it has room for another.
    fn next_transfer(&self, place: usize) -> Option<u32> {
        let engine = self.state.engines[place].as_ref()?;
        let number = *engine.transferring.front()?;
        let limits = self.state.device_parameters(number)?.engine;
        let flow = self.state.flow(number);
        let in_flight = match flow.placed.peer {
            Some(_) => engine.peer_requests < limits.peer_requests,
            None => flow.writes() || engine.host_requests < limits.tags,
        };
        let at_source = !flow.writes() || flow.at_source < SOURCE_TLPS;
        (in_flight && at_source).then_some(number)
    }

    fn delivered(&mut self, now: Picoseconds, tlp: Tlp) {
        let state = &mut self.state;
        let number = tlp.request;
        let flow_number = state.requests[number as usize].flow;
        let primitive = state.flows[flow_number as usize].traffic.primitive;
        if tlp.message == Message::Data && !matches!(primitive, Primitive::D2dWrite | Primitive::MmioWrite) {
            state.count(now, flow_number, tlp.length);
        }
        match (tlp.message, primitive) {
            (Message::Command, _) => self.command(now, number),
            (Message::Completion, _) => {
                let done = now + state.to_other_socket(number);
                self.events.push(done, Event::Done(number));
            }
            (Message::Ask, Primitive::MmioRead) => {
                let ready = now + Picoseconds::from_ns(state.memory(number).bar_read_ns);
                self.events.push(ready, Event::Inject(state.data(number, tlp.length)));
            }
            (Message::Ask, Primitive::D2dRead) => {
                let ready = state.read_bar(now, number, tlp.length);
                self.events.push(ready, Event::Inject(state.data(number, tlp.length)));
            }
            (Message::Ask, _) => {
                let memory = Picoseconds::from_ns(state.host(number).memory_read_ns);
                let ready = now + memory + state.to_other_socket(number);
                self.events.push(ready, Event::Inject(state.data(number, tlp.length)));
            }
            (Message::Data, Primitive::Stream) => {}
            (Message::Data, Primitive::MmioRead) => {
                if state.arrive(number, tlp.length) {
                    self.done(now, number);
                } else {
                    self.ask_for_line(now, number);
                }
            }
            (Message::Data, Primitive::MmioWrite | Primitive::D2dWrite) => {
                let written = state.write_bar(now, number, tlp.length);
                self.events.push(written, Event::Written(number, tlp.length));
            }
            (Message::Data, Primitive::H2d | Primitive::D2dRead) => self.take_data(now, number, tlp.length),
            (Message::Data, Primitive::D2h) => {
                state.arrive(number, tlp.length);
            }
            (Message::Data, Primitive::DmaWrite) => {
                if state.arrive(number, tlp.length) {
                    let done = now + state.to_other_socket(number);
                    self.events.push(done, Event::Done(number));
                }
            }
        }
    }

    /// Data that a device asked for have come; the last of them complete the command.
    fn take_data(&mut self, now: Picoseconds, number: u32, bytes: u32) {
        let (place, _) = self.state.engine_of(number);
        let peer = self.state.flow(number).placed.peer.is_some();
        if let Some(engine) = &mut self.state.engines[place] {
            *(if peer { &mut engine.peer_requests } else { &mut engine.host_requests }) -= 1;
        }
        if self.state.arrive(number, bytes) {
            let stored = now + Picoseconds::from_ns(self.state.memory(number).engine_ns);
            self.events.push(stored, Event::Inject(self.state.completion(number)));
        }
        self.transfer(now, number);
    }

    /// Data have been written to a device from outside.
    fn written(&mut self, now: Picoseconds, number: u32, bytes: u32) {
        let flow_number = self.state.requests[number as usize].flow;
        self.state.count(now, flow_number, bytes);
        let last = self.state.arrive(number, bytes);
        if self.state.flow(number).traffic.primitive == Primitive::MmioWrite {
            if last {
                self.done(now, number);
            }
            return;
        }
        let (place, _) = self.state.engine_of(number);
        if let Some(engine) = &mut self.state.engines[place] {
            engine.peer_requests -= 1;
        }
        if last {
            let completion = self.state.completion(number);
            self.inject(now, completion);
        }
        self.transfer(now, number);
    }

    fn done(&mut self, now: Picoseconds, number: u32) {
        let state = &mut self.state;
        let request = state.requests[number as usize];
        let flow = request.flow as usize;
        if now >= state.count_from {
            let host = request.sent.since(request.submitted);
            let device = request.executed.since(request.arrived);
            let fabric = now.since(request.submitted).since(host).since(device);
            state.flows[flow].outcome.requests.push(Phases {
                host_ns: host.as_ns(),
                fabric_ns: fabric.as_ns(),
                device_ns: device.as_ns(),
            });
        }
        let due = state.next_due(flow, now);
        self.events.push(due, Event::Submit(number));
    }

    /// The source of a path has sent a TLP: who supplies it may go on.
    fn room(&mut self, now: Picoseconds, path: u32) {
        let flow = self.state.path_flow[path as usize];
        let request = self.state.first_request[flow as usize];
        if self.state.flows[flow as usize].traffic.primitive != Primitive::Stream {
            self.transfer(now, request);
        } else if std::mem::take(&mut self.state.flows[flow as usize].held) {
            self.stream(now, request);
        }
    }
}
