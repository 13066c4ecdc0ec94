//! The simulator as a device that takes messages.

use crate::host::host_facts;
use pcie_bench::{ConnectionResult, Crossed, DeviceError, MessageDevice, MessageResult, MessageStart, Stop};
use pcie_model::mmio::{Access, Corner, Instruction, Mmio};
use pcie_model::pio::{MessageProfile, WORD_BYTES};
use pcie_refusal::Refusal;
use pcie_sim::pio::{
    Back, Connection, DescriptorMessage, DescriptorsRun, Ending, EvictionOrder, MessageMachine, MuxMessage,
    MuxRun, Pace, Sharing, Stalls, StoreMessage, StorePlan, StoresRun, frame, payload,
};
use pcie_sim::profile::System;
use pcie_sim::{Machine, TestKey};
use pcie_time::{Picoseconds, Stream};
use pcie_trace::Segment;
use pcie_workload::{BufferEviction, MessagePace, MessageTest, QueueSharing, StoreKind, Way};
use serde_json::{Map, Value, json};

/// Cores and a device on a simulated system.
#[derive(Clone, Debug)]
pub(crate) struct MessageSystem {
    system: System,
    profile: MessageProfile,
    seed: u64,
}

impl MessageSystem {
    /// Checks the system and the profile.
    ///
    /// # Errors
    /// Names the wrong value.
    pub(crate) fn new(system: System, profile: MessageProfile, seed: u64) -> Result<Self, Refusal> {
        MessageMachine::new(Machine::new(system.clone())?, profile.clone())?;
        Ok(Self { system, profile, seed })
    }

    /// The machine, with the link that a test asks for.
    fn machine(&self, test: &MessageTest) -> Result<MessageMachine, Refusal> {
        let mut system = self.system.clone();
        if let Some(generation) = test.generation {
            system.link.generation = generation;
            system.link.flit = generation >= 6;
        }
        if let Some(lanes) = test.lanes {
            system.link.lanes = lanes;
        }
        MessageMachine::new(Machine::new(system)?, self.profile.clone())
    }
}

/// A test, and the machine that carries it out.
struct Sending<'a> {
    profile: &'a MessageProfile,
    machine: &'a MessageMachine,
    key: TestKey,
    test: &'a MessageTest,
    stop: &'a Stop,
}

impl Sending<'_> {
    /// The frames of each core.
    fn frames(&self) -> Vec<Vec<Vec<u8>>> {
        let Self { key, test, .. } = *self;
        let draws = key.draws(Stream::Payload);
        let mut index = 0;
        (0..test.cores)
            .map(|_| {
                (0..test.messages)
                    .map(|_| frame(self.profile.header_bytes, &payload(draws, &mut index, test.size_bytes)))
                    .collect()
            })
            .collect()
    }

    fn by_stores(&self, plan: StorePlan) -> Result<MessageResult, DeviceError> {
        let Self { machine, key, stop, .. } = *self;
        let frames = self.frames();
        let run = StoresRun::new(machine, plan, key, frames.clone());
        let outcome = run.run_unless(&mut || stop.is_requested()).ok_or_else(stopped)?;
        let sent = frames.concat();
        let changed = outcome.delivered.iter().any(|one| one.frame != sent[one.message]);
        if changed || outcome.lost > 0 || outcome.delivered.len() as u64 + outcome.dropped < sent.len() as u64
        {
            return Err(DeviceError::Failed("a message did not arrive as it was written".into()));
        }
        let messages = &outcome.messages;
        let after_first = |at: fn(&StoreMessage) -> Picoseconds| {
            mean(messages.iter().map(|message| at(message).since(message.first_store).as_ns()))
        };
        let mut steps_ns = vec![
            ("first-store", 0.0),
            ("last-store", after_first(|message| message.last_store)),
            ("left-filter", after_first(|message| message.left)),
        ];
        let returned: Vec<_> =
            messages.iter().filter_map(|message| Some((message.first_store, message.back?))).collect();
        if !returned.is_empty() {
            let after = |at: fn(&Back) -> Picoseconds| {
                mean(returned.iter().map(|(first, back)| at(back).since(*first).as_ns()))
            };
            steps_ns.extend([
                ("first-acknowledged", after(|back| back.first_acknowledged)),
                ("last-acknowledged", after(|back| back.last_acknowledged)),
                ("first-looped", after(|back| back.first_looped)),
                ("last-looped", after(|back| back.last_looped)),
            ]);
        }
        Ok(MessageResult {
            latencies_ns: messages.iter().map(|message| message.latency().as_ns()).collect(),
            elapsed_ns: outcome.elapsed.as_ns(),
            cpu_ns: messages.iter().map(|message| (message.written - message.started).as_ns()).collect(),
            crossed: Some(Crossed { downstream_bytes: outcome.wire_bytes, ..Crossed::default() }),
            dropped: Some(outcome.dropped),
            stalls_ns: stalls(&outcome.stalls),
            steps_ns,
            ..MessageResult::default()
        })
    }

    /// The trace of the first `span`.
    fn trace(&self, span: Picoseconds) -> Result<Vec<Segment>, DeviceError> {
        let Self { machine, key, test, stop, .. } = *self;
        let stopped = &mut || stop.is_requested();
        if let Some(instruction) = instruction(test.way) {
            let mmio = self.mmio()?;
            let messages = u64::from(test.messages);
            let alone = test.pace == MessagePace::Alone || instruction == Instruction::Doorbell;
            let access = Access {
                width_bytes: test.store_bytes,
                cores: test.cores,
                size_bytes: if alone { test.size_bytes } else { test.size_bytes * messages },
                ..Access::of(instruction, test.size_bytes)
            };
            let values = mmio.values(Corner::Usual);
            let traced = pcie_sim::mmio::trace(&mmio, &access, &values, span, stopped);
            return traced.map_err(|refusal| DeviceError::NotSupported(refusal.to_string()));
        }
        Ok(match plan(test) {
            Some(plan) if test.way == Way::Mux => self.mux(plan).trace(span, stopped),
            Some(plan) => StoresRun::new(machine, plan, key, self.frames()).trace(span, stopped),
            None => self.descriptors().trace(span, stopped),
        })
    }

    fn mmio(&self) -> Result<Mmio, DeviceError> {
        let found = self.profile.mmio(*self.machine.link());
        let found = found.map_err(|refusal| DeviceError::NotSupported(refusal.to_string()))?;
        found.ok_or_else(|| {
            let name = &self.profile.name;
            let reason = format!("way: profile {name} has no [loads]: give one that has, as skylake-2017");
            DeviceError::NotSupported(reason)
        })
    }

    /// Accesses that are no messages: each alone, or one behind the other.
    fn by_access(&self, instruction: Instruction) -> Result<MessageResult, DeviceError> {
        let Self { test, stop, .. } = *self;
        let refused = |refusal: Refusal| DeviceError::NotSupported(refusal.to_string());
        let mmio = self.mmio()?;
        let alone = test.pace == MessagePace::Alone || instruction == Instruction::Doorbell;
        let messages = u64::from(test.messages);
        let of_one = Access {
            width_bytes: test.store_bytes,
            cores: test.cores,
            ..Access::of(instruction, test.size_bytes)
        };
        let whole = Access { size_bytes: test.size_bytes * messages, ..of_one };
        let access = if alone { of_one } else { whole };
        let values = mmio.values(Corner::Usual);
        let simulated = pcie_sim::mmio::simulate(&mmio, &access, &values, &mut || stop.is_requested());
        let outcome = simulated.map_err(refused)?.ok_or_else(stopped)?;
        let (each_ns, elapsed_ns) = if alone {
            (outcome.core_ns, outcome.core_ns * messages as f64)
        } else {
            (outcome.core_ns / messages as f64, outcome.core_ns)
        };
        let times = mmio.times(&of_one).map_err(refused)?;
        let all = messages * u64::from(test.cores);
        Ok(MessageResult {
            latencies_ns: if alone { vec![each_ns; all as usize] } else { Vec::new() },
            elapsed_ns,
            cpu_ns: vec![each_ns; all as usize],
            crossed: Some(Crossed {
                downstream_bytes: times.downstream_bytes * all,
                upstream_bytes: times.upstream_bytes * all,
                ..Crossed::default()
            }),
            ..MessageResult::default()
        })
    }

    fn descriptors(&self) -> DescriptorsRun<'_> {
        let Self { machine, key, test, .. } = *self;
        let frame_bytes = test.size_bytes + u64::from(self.profile.header_bytes);
        let cores = (test.cores, sharing(test));
        DescriptorsRun::new(machine, key, cores, (test.messages, pace(test.pace)), frame_bytes)
    }

    fn by_descriptors(&self) -> Result<MessageResult, DeviceError> {
        let (stop, run) = (self.stop, self.descriptors());
        let outcome = run.run_unless(&mut || stop.is_requested()).ok_or_else(stopped)?;
        let messages = &outcome.messages;
        let after_doorbell = |at: fn(&DescriptorMessage) -> Picoseconds| {
            mean(messages.iter().map(|message| at(message).since(message.doorbell).as_ns()))
        };
        let mut steps_ns = vec![
            ("doorbell", 0.0),
            ("descriptor-request", after_doorbell(|message| message.descriptor_request)),
            ("descriptor", after_doorbell(|message| message.descriptor)),
        ];
        let is_inline = messages.iter().all(DescriptorMessage::is_inline);
        if !is_inline {
            steps_ns.push(("payload-request", after_doorbell(|message| message.payload_request)));
        }
        steps_ns.extend([
            ("payload", after_doorbell(|message| message.payload)),
            ("received", after_doorbell(|message| message.received)),
            ("written-back", after_doorbell(|message| message.written_back)),
        ]);
        if let Some(answers) = self.profile.answers.filter(|_| !is_inline) {
            let (device_ns, root_ns) = (answers.descriptor_acknowledged_ns, answers.request_acknowledged_ns);
            steps_ns.extend([
                ("doorbell-acknowledged", after_doorbell(|message| message.doorbell_left) + device_ns),
                ("descriptor-acknowledged", after_doorbell(|message| message.descriptor_left) + device_ns),
                ("request-acknowledged", after_doorbell(|message| message.payload_request_left) + root_ns),
                ("payload-acknowledged", after_doorbell(|message| message.received) + device_ns),
            ]);
        }
        Ok(MessageResult {
            latencies_ns: messages.iter().map(|message| outcome.latency(message).as_ns()).collect(),
            elapsed_ns: outcome.elapsed.as_ns(),
            crossed: Some(Crossed {
                downstream_bytes: outcome.downstream_bytes,
                upstream_bytes: outcome.upstream_bytes,
                control_bytes: outcome.control_bytes,
            }),
            dropped: Some(0),
            steps_ns,
            ..MessageResult::default()
        })
    }

    fn mux(&self, plan: StorePlan) -> MuxRun<'_> {
        let Self { machine, key, test, .. } = *self;
        let asked = test.connections.as_deref().unwrap_or_default();
        let plans = asked
            .iter()
            .map(|connection| Connection {
                sizes: connection.sizes.clone(),
                stores_up_to_bytes: connection.stores_up_to_bytes.or(test.stores_up_to_bytes).unwrap_or(0),
                pace: pace(connection.pace),
            })
            .collect();
        MuxRun::new(machine, plan, key, u64::from(test.messages), plans)
    }

    /// Connections whose messages go by stores or by descriptors.
    fn by_mux(&self, plan: StorePlan) -> Result<MessageResult, DeviceError> {
        let Self { test, stop, .. } = *self;
        let asked = test.connections.as_deref().unwrap_or_default();
        let run = self.mux(plan);
        let outcome = run.run_unless(&mut || stop.is_requested()).ok_or_else(stopped)?;
        if outcome.changed > 0 {
            return Err(DeviceError::Failed("a message did not arrive as it was written".into()));
        }
        if outcome.too_many {
            let most = "a connection would send over 200,000 messages before the slowest has done its own";
            return Err(DeviceError::Failed(format!("{most}: give fewer messages")));
        }
        let connections: Vec<_> = asked
            .iter()
            .zip(&outcome.connections)
            .map(|(asked, messages)| connection_result(&asked.name, messages))
            .collect();
        // The bytes are of all messages sent, the results of those that arrived in time.
        let in_time: usize = connections.iter().map(|connection| connection.latencies_ns.len()).sum();
        let share = in_time as f64 / outcome.sent as f64;
        let scaled = |bytes: u64| (bytes as f64 * share).round() as u64;
        Ok(MessageResult {
            latencies_ns: connections.iter().flat_map(|one| one.latencies_ns.clone()).collect(),
            elapsed_ns: outcome.elapsed.as_ns(),
            crossed: Some(Crossed {
                downstream_bytes: scaled(outcome.downstream_bytes),
                upstream_bytes: scaled(outcome.upstream_bytes),
                control_bytes: scaled(outcome.control_bytes),
            }),
            dropped: Some(outcome.dropped),
            stalls_ns: stalls(&outcome.stalls),
            connections,
            ..MessageResult::default()
        })
    }
}

fn connection_result(name: &str, messages: &[MuxMessage]) -> ConnectionResult {
    let mut latest = Picoseconds::ZERO;
    let mut overtook = 0;
    for message in messages {
        overtook += u64::from(message.received < latest);
        latest = latest.max(message.received);
    }
    ConnectionResult {
        name: name.to_owned(),
        payload_bytes: messages.iter().map(|message| message.payload_bytes).sum(),
        latencies_ns: messages
            .iter()
            .map(|message| message.received.since(message.taken_up).as_ns())
            .collect(),
        by_stores: messages.iter().filter(|message| message.by_stores).count() as u64,
        overtook,
    }
}

fn stalls(stalls: &Stalls) -> Vec<(&'static str, f64)> {
    vec![("buffers", stalls.buffers.as_ns()), ("queue", stalls.queue.as_ns()), ("lock", stalls.lock.as_ns())]
}

impl MessageDevice for MessageSystem {
    fn identity(&self) -> Map<String, Value> {
        let host = host_facts(&self.system);
        Map::from_iter([
            ("device".to_owned(), json!({"name": self.profile.name})),
            ("host".to_owned(), json!(host)),
        ])
    }

    fn trace(&mut self, start: MessageStart<'_>, span: Picoseconds) -> Result<Vec<Segment>, DeviceError> {
        let MessageStart { position, test, stop, .. } = start;
        let machine = self.machine(test).map_err(|error| DeviceError::NotSupported(error.to_string()))?;
        let key = TestKey { seed: self.seed, test: position };
        Sending { profile: &self.profile, machine: &machine, key, test, stop }.trace(span)
    }

    fn send(&mut self, start: MessageStart<'_>) -> Result<MessageResult, DeviceError> {
        let MessageStart { position, test, stop, .. } = start;
        let machine = self.machine(test).map_err(|error| DeviceError::NotSupported(error.to_string()))?;
        if !test.way.is_access() {
            refuse_other_stores(test)?;
        }
        let key = TestKey { seed: self.seed, test: position };
        let sending = Sending { profile: &self.profile, machine: &machine, key, test, stop };
        if let Some(instruction) = instruction(test.way) {
            return sending.by_access(instruction);
        }
        match plan(test) {
            Some(plan) if test.way == Way::Mux => sending.by_mux(plan),
            Some(plan) => sending.by_stores(plan),
            None => sending.by_descriptors(),
        }
    }
}

fn stopped() -> DeviceError {
    DeviceError::Failed("stopped before it was complete".into())
}

/// The simulated core supports plain stores of 8 bytes.
fn refuse_other_stores(test: &MessageTest) -> Result<(), DeviceError> {
    if let Some(bytes) = test.store_bytes.filter(|bytes| u64::from(*bytes) != WORD_BYTES) {
        let reason =
            format!("store_bytes is {bytes}: the simulated core stores {WORD_BYTES} bytes at a time");
        return Err(DeviceError::NotSupported(reason));
    }
    match test.store_kind {
        None | Some(StoreKind::Plain) => Ok(()),
        Some(kind) => {
            let reason = format!("store_kind is {}: the simulated core supports only \"plain\"", json!(kind));
            Err(DeviceError::NotSupported(reason))
        }
    }
}

/// The access of a way that sends no message.
const fn instruction(way: Way) -> Option<Instruction> {
    match way {
        Way::UncachedLoad => Some(Instruction::UncachedLoad),
        Way::StreamingLoad => Some(Instruction::StreamingLoad),
        Way::ReadModifyWrite => Some(Instruction::ReadModifyWrite),
        Way::Doorbell => Some(Instruction::Doorbell),
        Way::Enqueue => Some(Instruction::EnqueueStore),
        _ => None,
    }
}

/// How messages are stored; none with descriptors.
fn plan(test: &MessageTest) -> Option<StorePlan> {
    let (combine, ending) = match test.way {
        Way::Uncached => (false, Ending::Stuffed),
        Way::WriteCombined | Way::Mux => (true, Ending::Stuffed),
        Way::WriteCombinedFenced => (true, Ending::Fenced),
        _ => return None,
    };
    Some(StorePlan {
        combine,
        eviction: match test.eviction {
            None | Some(BufferEviction::InOrder) => EvictionOrder::InOrder,
            Some(BufferEviction::Random) => EvictionOrder::Random,
        },
        pressure: test.pressure.unwrap_or(0.0),
        ending,
        sharing: sharing(test),
        pace: pace(test.pace),
    })
}

fn pace(pace: MessagePace) -> Pace {
    match pace {
        MessagePace::Alone => Pace::Alone,
        MessagePace::Stream => Pace::Stream,
    }
}

fn sharing(test: &MessageTest) -> Sharing {
    match test.sharing {
        QueueSharing::OwnQueues => Sharing::OwnQueues,
        QueueSharing::OneQueue => Sharing::OneQueue,
    }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}
