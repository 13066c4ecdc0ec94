//! Requests and what they do: which messages follow which, and when each phase begins and ends.
//!
//! A host's command crosses the fabric to the command queue of the engine; the engine transfers the data; then it writes
//! a completion to the host. A D2H's completion follows its data on the same way and so costs no time of its own.

use pcie_time::{Draws, EventQueue, Picoseconds, Stream};

use super::Options;
use super::engine::{BarPort, Engine};
use super::network::{CreditKind, Listener, Message, Network, NetworkEvent, Tlp};
use super::outcome::{FlowOutcome, Outcome, Phases};
use super::traffic::{Arrivals, Placed, Primitive, Traffic, place};
use crate::description::{DeviceParameters, HostParameters};
use crate::error::FabricError;
use crate::topology::{NodeId, Topology};

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

impl State<'_> {
    fn new_flow(
        &mut self,
        network: &mut Network,
        number: u32,
        traffic: &Traffic,
        seed: u64,
    ) -> Result<Flow, FabricError> {
        let placed = place(self.topology, traffic)?;
        let Placed { source, destination, host, device, peer, .. } = placed;
        let mut path = |kind: CreditKind, from: NodeId, to: NodeId| {
            let path = network.add_path(self.topology, number, kind, from, to);
            self.path_flow.push(number);
            path
        };
        let mut paths = Paths::default();
        match traffic.primitive {
            Primitive::MmioRead => {
                paths.ask = path(CreditKind::NonPosted, host, device);
                paths.data = path(CreditKind::Completion, device, host);
            }
            Primitive::H2d | Primitive::D2dRead => {
                paths.command = path(CreditKind::Posted, host, device);
                paths.ask = path(CreditKind::NonPosted, device, peer.unwrap_or(host));
                paths.data = path(CreditKind::Completion, source, destination);
                paths.completion = path(CreditKind::Posted, device, host);
            }
            Primitive::D2h => {
                paths.command = path(CreditKind::Posted, host, device);
                paths.data = path(CreditKind::Posted, source, destination);
                paths.completion = paths.data;
            }
            Primitive::D2dWrite => {
                paths.command = path(CreditKind::Posted, host, device);
                paths.data = path(CreditKind::Posted, source, destination);
                paths.completion = path(CreditKind::Posted, device, host);
            }
            Primitive::Stream | Primitive::MmioWrite | Primitive::DmaWrite => {
                paths.data = path(CreditKind::Posted, source, destination);
            }
        }
        let interval_ns = traffic.standalone_gbytes_per_s.map(|pace| {
            let bytes = match traffic.primitive {
                Primitive::Stream => u64::from(self.topology.mps_bytes()),
                _ => traffic.size_bytes,
            };
            bytes as f64 / pace
        });
        Ok(Flow {
            traffic: traffic.clone(),
            placed,
            paths,
            interval_ns,
            next_due_ns: 0.0,
            draws: Draws::new(seed, number.into(), Stream::Arrivals),
            drawn: 0,
            at_source: 0,
            held: false,
            delivered_bytes: 0,
            outcome: FlowOutcome::default(),
        })
    }

    /// When a flow may submit its next request.
    fn next_due(&mut self, flow: usize, now: Picoseconds) -> Picoseconds {
        let flow = &mut self.flows[flow];
        let Some(interval_ns) = flow.interval_ns else { return now };
        let due = now.max(Picoseconds::from_ns(flow.next_due_ns));
        let step = match flow.traffic.arrivals {
            Arrivals::Even => 1.0,
            Arrivals::Random => {
                flow.drawn += 1;
                -(1.0 - flow.draws.fraction(flow.drawn)).ln()
            }
        };
        // A flow that was held up does not make up for it.
        flow.next_due_ns = flow.next_due_ns.max(now.as_ns() - interval_ns) + interval_ns * step;
        due
    }

    fn flow(&self, request: u32) -> &Flow {
        &self.flows[self.requests[request as usize].flow as usize]
    }

    fn host(&self, request: u32) -> HostParameters {
        let host = self.flow(request).placed.host;
        // Placing the flow has made sure that there is one.
        self.topology.nodes()[host as usize].host.unwrap_or_default()
    }

    fn device_parameters(&self, request: u32) -> Option<&DeviceParameters> {
        let device = self.flow(request).placed.device;
        self.topology.nodes()[device as usize].device.as_ref()
    }

    /// The memory that a request uses on its device; devices of a D2D flow have memories of one name.
    fn memory(&self, request: u32) -> MemoryTimes {
        let placed = &self.flow(request).placed;
        let of = |node: NodeId| self.topology.nodes()[node as usize].device.as_ref();
        let here = of(placed.device).and_then(|device| device.memories.get(placed.memory));
        let there = of(placed.peer.unwrap_or(placed.device))
            .and_then(|device| device.memories.get(placed.peer_memory));
        MemoryTimes {
            engine_ns: here.map_or(0.0, |memory| memory.engine_ns),
            bar_read_ns: there.map_or(0.0, |memory| memory.bar_read_ns),
            bar_write_ns: there.map_or(0.0, |memory| memory.bar_write_ns),
            read_gbytes_per_s: there.map_or(f64::INFINITY, |memory| memory.bar_read_gbytes_per_s),
            write_gbytes_per_s: there.map_or(f64::INFINITY, |memory| memory.bar_write_gbytes_per_s),
        }
    }

    /// When a BAR has the data of a read.
    fn read_bar(&mut self, now: Picoseconds, request: u32, bytes: u32) -> Picoseconds {
        let memory = self.memory(request);
        let placed = self.flow(request).placed;
        let bar = &mut self.bars[placed.peer.unwrap_or(placed.device) as usize];
        bar.read(now, bytes, memory.read_gbytes_per_s) + Picoseconds::from_ns(memory.bar_read_ns)
    }

    /// When a BAR has put the data of a write into the memory.
    fn write_bar(&mut self, now: Picoseconds, request: u32, bytes: u32) -> Picoseconds {
        let memory = self.memory(request);
        let placed = self.flow(request).placed;
        let bar = &mut self.bars[placed.peer.unwrap_or(placed.device) as usize];
        bar.write(now, bytes, memory.write_gbytes_per_s) + Picoseconds::from_ns(memory.bar_write_ns)
    }

    fn to_other_socket(&self, request: u32) -> Picoseconds {
        let other = self.flow(request).traffic.socket != 0;
        Picoseconds::from_ns(if other { self.host(request).other_socket_ns } else { 0.0 })
    }

    /// The engine that serves a request, and its device.
    fn engine_of(&self, request: u32) -> (usize, NodeId) {
        let flow = self.flow(request);
        (2 * flow.placed.device as usize + usize::from(flow.writes()), flow.placed.device)
    }

    fn count(&mut self, now: Picoseconds, flow: u32, bytes: u32) {
        if now >= self.count_from {
            self.flows[flow as usize].delivered_bytes += u64::from(bytes);
        }
    }

    /// Notes bytes of a request that have arrived; says whether they were the last.
    fn arrive(&mut self, request: u32, bytes: u32) -> bool {
        let request = &mut self.requests[request as usize];
        request.to_arrive -= u64::from(bytes);
        request.to_arrive == 0
    }

    fn data(&self, request: u32, bytes: u32) -> Tlp {
        let path = self.flow(request).paths.data;
        Tlp { path, hop: 0, bytes, request, message: Message::Data, length: bytes }
    }

    fn command(&self, request: u32) -> Tlp {
        let path = self.flow(request).paths.command;
        Tlp { path, hop: 0, bytes: 0, request, message: Message::Command, length: 0 }
    }

    fn ask(&self, request: u32, length: u32) -> Tlp {
        let path = self.flow(request).paths.ask;
        Tlp { path, hop: 0, bytes: 0, request, message: Message::Ask, length }
    }

    fn completion(&self, request: u32) -> Tlp {
        let path = self.flow(request).paths.completion;
        let bytes = self.device_parameters(request).map_or(0, |device| device.engine.completion_bytes);
        Tlp { path, hop: 0, bytes, request, message: Message::Completion, length: bytes }
    }
}

/// How fast the memories of a request are.
struct MemoryTimes {
    engine_ns: f64,
    bar_read_ns: f64,
    bar_write_ns: f64,
    read_gbytes_per_s: f64,
    write_gbytes_per_s: f64,
}

fn engines(topology: &Topology) -> Vec<Option<Engine>> {
    let of = |device: &DeviceParameters| {
        let parameters = device.engine;
        [parameters.read, parameters.write].map(|pace| Some(Engine::new(pace, parameters.execution_ns)))
    };
    topology.nodes().iter().flat_map(|node| node.device.as_ref().map_or([None, None], of)).collect()
}
