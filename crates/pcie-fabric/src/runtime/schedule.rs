//! Queues of requests at a host, and the policies that say which request leaves next.

use std::collections::VecDeque;

use pcie_time::Picoseconds;

use super::error::RuntimeError;

/// The first request of a queue, as policies see it. Queues with as many requests in flight as they may have are not
/// shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Waiting {
    /// Its queue.
    pub queue: u32,
    /// When it was submitted, ns.
    pub submitted_ns: f64,
    /// Its payload, bytes.
    pub size_bytes: u64,
    /// Requests of its queue in flight.
    pub in_flight: u32,
}

/// Says which of the requests that may leave does so next.
pub trait Policy: std::fmt::Debug + Send + Sync {
    /// The number of a request in `waiting`, which is not empty and in the order of queues.
    fn choose(&mut self, waiting: &[Waiting]) -> usize;
}

/// The request that was submitted first.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fifo;

impl Policy for Fifo {
    fn choose(&mut self, waiting: &[Waiting]) -> usize {
        least(waiting, |one| one.submitted_ns)
    }
}

/// The queue after the one that was served last.
#[derive(Debug, Clone, Copy, Default)]
pub struct RoundRobin {
    next_queue: u32,
}

impl Policy for RoundRobin {
    fn choose(&mut self, waiting: &[Waiting]) -> usize {
        let chosen = waiting.iter().position(|one| one.queue >= self.next_queue).unwrap_or(0);
        self.next_queue = waiting.get(chosen).map_or(0, |one| one.queue + 1);
        chosen
    }
}

/// The smallest request, whatever waits besides.
#[derive(Debug, Clone, Copy, Default)]
pub struct ShortestFirst;

impl Policy for ShortestFirst {
    fn choose(&mut self, waiting: &[Waiting]) -> usize {
        least(waiting, |one| one.size_bytes as f64)
    }
}

/// The first of those with the least value.
fn least(waiting: &[Waiting], value: impl Fn(&Waiting) -> f64) -> usize {
    let numbered = waiting.iter().map(value).enumerate();
    numbered.min_by(|left, right| left.1.total_cmp(&right.1)).map_or(0, |(number, _)| number)
}

/// A request that waits at the host.
#[derive(Debug, Clone)]
pub(super) struct Queued {
    pub id: u64,
    pub submitted: Picoseconds,
    pub flow: u32,
    pub size_bytes: u64,
    pub segments: Vec<u64>,
}

#[derive(Debug)]
pub(super) struct Queue {
    pub host: String,
    pub socket: u32,
    pub outstanding: u32,
    in_flight: u32,
    waiting: VecDeque<Queued>,
}

/// All queues, and the limit on what they have in flight together.
#[derive(Debug)]
pub(super) struct Scheduler {
    queues: Vec<Queue>,
    policy: Box<dyn Policy>,
    outstanding: u32,
    in_flight: u32,
}

impl Scheduler {
    pub fn new(policy: Box<dyn Policy>, outstanding: u32) -> Self {
        Self { queues: vec![], policy, outstanding, in_flight: 0 }
    }

    pub fn add_queue(&mut self, host: String, socket: u32, outstanding: u32) -> u32 {
        self.queues.push(Queue { host, socket, outstanding, in_flight: 0, waiting: VecDeque::new() });
        self.queues.len() as u32 - 1
    }

    pub fn queue(&self, number: u32) -> Option<&Queue> {
        self.queues.get(number as usize)
    }

    pub fn put(&mut self, queue: u32, request: Queued) {
        self.queues[queue as usize].waiting.push_back(request);
    }

    /// A request of a queue is done.
    pub fn done(&mut self, queue: u32) {
        self.queues[queue as usize].in_flight -= 1;
        self.in_flight -= 1;
    }

    /// Requests that wait or are in flight.
    pub fn unfinished(&self) -> usize {
        self.in_flight as usize + self.queues.iter().map(|queue| queue.waiting.len()).sum::<usize>()
    }

    /// The request that leaves next, with its queue, if the limits let one leave.
    pub fn next(&mut self) -> Result<Option<(u32, Queued)>, RuntimeError> {
        if self.in_flight >= self.outstanding {
            return Ok(None);
        }
        let waiting: Vec<Waiting> =
            (0..).zip(&self.queues).filter_map(|(number, queue)| queue.head(number)).collect();
        if waiting.is_empty() {
            return Ok(None);
        }
        let chosen = self.policy.choose(&waiting);
        let Some(head) = waiting.get(chosen) else {
            return Err(RuntimeError::Policy { chosen, waiting: waiting.len() });
        };
        let queue = &mut self.queues[head.queue as usize];
        let request = queue.waiting.pop_front();
        queue.in_flight += 1;
        self.in_flight += 1;
        Ok(request.map(|request| (head.queue, request)))
    }
}

impl Queue {
    fn head(&self, queue: u32) -> Option<Waiting> {
        let first = self.waiting.front().filter(|_| self.in_flight < self.outstanding)?;
        Some(Waiting {
            queue,
            submitted_ns: first.submitted.as_ns(),
            size_bytes: first.size_bytes,
            in_flight: self.in_flight,
        })
    }
}
