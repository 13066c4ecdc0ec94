//! Queues of requests at hosts, and the policies that choose the next request to leave.
//!
//! Each host has its own queues, policy and limit on requests in flight.

use std::collections::{BTreeMap, VecDeque};

use pcie_refusal::Refusal;
use pcie_time::Picoseconds;

use super::transfer::{LONGEST_NS, Transfer};
use crate::simulate::Primitive;
use crate::simulate::traffic::Placed;
use crate::topology::NodeId;

/// The first request of a queue, for a policy. Queues at their limit of requests in flight are left out.
#[derive(Debug, Clone, PartialEq)]
pub struct Waiting {
    /// Its queue.
    pub queue: u32,
    /// The host of the queue.
    pub host: String,
    /// The device that carries it out; for MMIO, the device that is read or written.
    pub device: String,
    /// Its primitive.
    pub primitive: Primitive,
    /// Its payload, bytes.
    pub size_bytes: u64,
    /// Time of submission, ns.
    pub submitted_ns: f64,
    /// Time that it has waited, ns.
    pub age_ns: f64,
    /// Requests of its queue in flight.
    pub in_flight: u32,
}

/// The decision of a policy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Choice {
    /// The request at this index of `waiting` leaves.
    Leave(usize),
    /// None leaves until a request of the host is submitted or done.
    Hold,
    /// None leaves for this time, ns, unless a request of the host is submitted or done.
    HoldFor(f64),
}

/// Chooses the next request to leave a host. Each host has its own policy.
pub trait Policy: std::fmt::Debug + Send + Sync {
    /// Chooses from `waiting`, which is not empty and in the order of queues.
    fn choose(&mut self, waiting: &[Waiting]) -> Choice;
}

/// Chooses the request that was submitted first.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fifo;

impl Policy for Fifo {
    fn choose(&mut self, waiting: &[Waiting]) -> Choice {
        least(waiting, |one| one.submitted_ns)
    }
}

/// Chooses the queue after the one that was served last.
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

/// Chooses the smallest request.
#[derive(Debug, Clone, Copy, Default)]
pub struct ShortestFirst;

impl Policy for ShortestFirst {
    fn choose(&mut self, waiting: &[Waiting]) -> Choice {
        least(waiting, |one| one.size_bytes as f64)
    }
}

/// The first request with the least value.
fn least(waiting: &[Waiting], value: impl Fn(&Waiting) -> f64) -> Choice {
    let numbered = waiting.iter().map(value).enumerate();
    Choice::Leave(numbered.min_by(|left, right| left.1.total_cmp(&right.1)).map_or(0, |(number, _)| number))
}

/// A request that waits at its host.
#[derive(Debug, Clone)]
pub(super) struct Queued {
    pub id: u64,
    pub submitted: Picoseconds,
    pub placed: Placed,
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

/// The scheduler of a host.
#[derive(Debug)]
struct HostScheduler {
    policy: Box<dyn Policy>,
    in_flight: u32,
    /// Its queues, by their numbers.
    queues: Vec<u32>,
    /// Time until which its policy holds requests back.
    held_until: Option<Picoseconds>,
}

/// All queues, and the limit on requests in flight of each host.
#[derive(Debug)]
pub(super) struct Scheduler {
    queues: Vec<Queue>,
    hosts: BTreeMap<NodeId, HostScheduler>,
    outstanding: u32,
}

impl Scheduler {
    /// A scheduler of at most `outstanding` requests in flight for each host, with one policy per host.
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

    /// Notes that a request of a queue is done.
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

    /// Time of the next decision of a policy that holds requests back.
    pub fn next_look(&self) -> Option<Picoseconds> {
        self.hosts.values().filter_map(|host| host.held_until).filter(|at| *at < FOREVER).min()
    }

    /// The next request that may leave now, with its queue.
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

/// Sentinel: never.
const FOREVER: Picoseconds = Picoseconds(u64::MAX);

/// Time of a policy's next decision after it held requests back for `ns`: later than `now`, so that time
/// advances.
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
