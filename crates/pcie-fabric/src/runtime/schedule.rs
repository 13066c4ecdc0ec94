//! Queues of requests at hosts, and the policies that say which request leaves its host next, or that none does yet.
//!
//! Each host has a scheduler of its own: its queues, its policy, and its limit on what they have in flight together.

use std::collections::{BTreeMap, VecDeque};

use pcie_refusal::Refusal;
use pcie_time::Picoseconds;

use super::transfer::{LONGEST_NS, Transfer};
use crate::simulate::Primitive;
use crate::topology::NodeId;

/// The first request of a queue, as policies see it. Queues with as many requests in flight as they may have are not
/// shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Waiting {
    /// Its queue.
    pub queue: u32,
    /// The host of the queue.
    pub host: String,
    /// The device that carries it out; for MMIO, the device that is read or written.
    pub device: String,
    /// What it does.
    pub primitive: Primitive,
    /// Its payload, bytes.
    pub size_bytes: u64,
    /// When it was submitted, ns.
    pub submitted_ns: f64,
    /// How long it has waited, ns.
    pub age_ns: f64,
    /// Requests of its queue in flight.
    pub in_flight: u32,
}

/// What a policy says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Choice {
    /// This one of those that wait leaves.
    Leave(usize),
    /// None leaves until another request of the host is submitted or done.
    Hold,
    /// None leaves before so many ns have passed, unless another request of the host is submitted or done.
    HoldFor(f64),
}

/// Says which of the requests that may leave a host does so next. Each host has a policy of its own.
pub trait Policy: std::fmt::Debug + Send + Sync {
    /// About the requests in `waiting`, which is not empty and in the order of queues.
    fn choose(&mut self, waiting: &[Waiting]) -> Choice;
}

/// The request that was submitted first.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fifo;

impl Policy for Fifo {
    fn choose(&mut self, waiting: &[Waiting]) -> Choice {
        least(waiting, |one| one.submitted_ns)
    }
}

/// The queue after the one that was served last.
#[derive(Debug, Clone, Copy, Default)]
pub struct RoundRobin {
    next_queue: u32,
}

impl Policy for RoundRobin {
    fn choose(&mut self, waiting: &[Waiting]) -> Choice {
        let chosen = waiting.iter().position(|one| one.queue >= self.next_queue).unwrap_or(0);
        self.next_queue = waiting.get(chosen).map_or(0, |one| one.queue + 1);
        Choice::Leave(chosen)
    }
}

/// The smallest request, whatever waits besides.
#[derive(Debug, Clone, Copy, Default)]
pub struct ShortestFirst;

impl Policy for ShortestFirst {
    fn choose(&mut self, waiting: &[Waiting]) -> Choice {
        least(waiting, |one| one.size_bytes as f64)
    }
}

/// The first of those with the least value.
fn least(waiting: &[Waiting], value: impl Fn(&Waiting) -> f64) -> Choice {
    let numbered = waiting.iter().map(value).enumerate();
    Choice::Leave(numbered.min_by(|left, right| left.1.total_cmp(&right.1)).map_or(0, |(number, _)| number))
}

/// A request that waits at its host.
#[derive(Debug, Clone)]
pub(super) struct Queued {
    pub id: u64,
    pub submitted: Picoseconds,
    pub flow: u32,
    pub primitive: Primitive,
    pub device: String,
    pub size_bytes: u64,
    pub list: Vec<Transfer>,
}

#[derive(Debug)]
pub(super) struct Queue {
    pub host: NodeId,
    pub host_name: String,
    pub socket: u32,
    pub outstanding: u32,
    in_flight: u32,
    waiting: VecDeque<Queued>,
}

/// What a host has of its own.
#[derive(Debug)]
struct HostScheduler {
    policy: Box<dyn Policy>,
    in_flight: u32,
    /// Its queues, by their numbers.
    queues: Vec<u32>,
    /// Until when its policy holds everything back.
    held_until: Option<Picoseconds>,
}

/// All queues, and of each host the limit on what its queues have in flight together.
#[derive(Debug)]
pub(super) struct Scheduler {
    queues: Vec<Queue>,
    hosts: BTreeMap<NodeId, HostScheduler>,
    outstanding: u32,
}

impl Scheduler {
    /// A scheduler of at most `outstanding` requests in flight for each host, with the policy that belongs to it.
    pub fn new(policies: impl IntoIterator<Item = (NodeId, Box<dyn Policy>)>, outstanding: u32) -> Self {
        let host = |policy| HostScheduler { policy, in_flight: 0, queues: vec![], held_until: None };
        let hosts = policies.into_iter().map(|(id, policy)| (id, host(policy))).collect();
        Self { queues: vec![], hosts, outstanding }
    }

    pub fn add_queue(&mut self, host: NodeId, host_name: String, socket: u32, outstanding: u32) -> u32 {
        let number = self.queues.len() as u32;
        let waiting = VecDeque::new();
        self.queues.push(Queue { host, host_name, socket, outstanding, in_flight: 0, waiting });
        if let Some(host) = self.hosts.get_mut(&host) {
            host.queues.push(number);
        }
        number
    }

    pub fn queue(&self, number: u32) -> Option<&Queue> {
        self.queues.get(number as usize)
    }

    pub fn put(&mut self, queue: u32, request: Queued) {
        let queue = &mut self.queues[queue as usize];
        queue.waiting.push_back(request);
        if let Some(host) = self.hosts.get_mut(&queue.host) {
            host.held_until = None;
        }
    }

    /// A request of a queue is done.
    pub fn done(&mut self, queue: u32) {
        let queue = &mut self.queues[queue as usize];
        queue.in_flight -= 1;
        if let Some(host) = self.hosts.get_mut(&queue.host) {
            host.in_flight -= 1;
            host.held_until = None;
        }
    }

    /// Requests that wait or are in flight.
    pub fn unfinished(&self) -> usize {
        self.queues.iter().map(|queue| queue.in_flight as usize + queue.waiting.len()).sum()
    }

    /// When the first policy that holds requests back for a time is to be asked again.
    pub fn next_look(&self) -> Option<Picoseconds> {
        self.hosts.values().filter_map(|host| host.held_until).filter(|at| *at < FOREVER).min()
    }

    /// A request that leaves now, with its queue, if the limits and the policies of the hosts let one leave.
    pub fn next(&mut self, now: Picoseconds) -> Result<Option<(u32, Queued)>, Refusal> {
        for host in self.hosts.values_mut() {
            if host.in_flight >= self.outstanding || host.held_until.is_some_and(|until| until > now) {
                continue;
            }
            let heads =
                host.queues.iter().filter_map(|&number| self.queues[number as usize].head(number, now));
            let waiting: Vec<Waiting> = heads.collect();
            if waiting.is_empty() {
                continue;
            }
            let chosen = match host.policy.choose(&waiting) {
                Choice::Leave(chosen) => chosen,
                Choice::Hold => {
                    host.held_until = Some(FOREVER);
                    continue;
                }
                Choice::HoldFor(ns) => {
                    host.held_until = Some(later(now, ns)?);
                    continue;
                }
            };
            let Some(head) = waiting.get(chosen) else {
                let problem = format!("chose {chosen} of {} waiting requests", waiting.len());
                return Err(Refusal::new(problem)
                    .about("policy")
                    .remedy("choose one of them, counted from 0"));
            };
            host.held_until = None;
            host.in_flight += 1;
            let queue = &mut self.queues[head.queue as usize];
            queue.in_flight += 1;
            return Ok(queue.waiting.pop_front().map(|request| (head.queue, request)));
        }
        Ok(None)
    }
}

/// A time that does not come.
const FOREVER: Picoseconds = Picoseconds(u64::MAX);

/// When a policy that holds requests back for so long is to be asked again: later than now, so that time goes on.
fn later(now: Picoseconds, ns: f64) -> Result<Picoseconds, Refusal> {
    if !(ns > 0.0 && ns <= LONGEST_NS) {
        let problem = format!("holds requests back for {ns} ns");
        let remedy = "give more than 0 and at most 1e12, or hold without a time";
        return Err(Refusal::new(problem).about("policy").remedy(remedy));
    }
    Ok(now + Picoseconds::from_ns(ns).max(Picoseconds(1)))
}

impl Queue {
    fn head(&self, queue: u32, now: Picoseconds) -> Option<Waiting> {
        let first = self.waiting.front().filter(|_| self.in_flight < self.outstanding)?;
        Some(Waiting {
            queue,
            host: self.host_name.clone(),
            device: first.device.clone(),
            primitive: first.primitive,
            size_bytes: first.size_bytes,
            submitted_ns: first.submitted.as_ns(),
            age_ns: now.since(first.submitted).as_ns(),
            in_flight: self.in_flight,
        })
    }
}
