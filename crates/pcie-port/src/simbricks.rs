//! A brick for SimBricks: the link, tags, credits and root complex between a device and a host that other
//! programs simulate, or the host itself.
//!
//! SimBricks couples simulators through pairs of rings in shared memory, one process a simulator. The brick is a
//! host towards the device, whose socket it connects to, and a device towards the host, which connects to it.
//! Reads of the device go on to its host at once, and are answered when both the host has given the data and the
//! simulated link and root complex have; writes and interrupts go on when they have passed. Accesses of the host to
//! the device's registers only take the latency of the connections. Devices do not share anything here: each has a
//! root port and a host's memory system of its own.

mod cut;
mod error;
mod handshake;
mod lane;
mod memory;
mod message;
mod peer;
mod ring;
mod socket;
mod wait;

pub use error::BrickError;

use crate::endpoint::Endpoint;
use crate::requester::Requester;
use handshake::{Expected, connect};
use lane::{Lane, Pace};
use pcie_refusal::Refusal;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use wait::Wait;

/// Sockets and times of a brick.
#[derive(Clone, Debug)]
pub struct Brick {
    /// Sockets on which devices listen.
    pub devices: Vec<PathBuf>,
    /// Sockets for their hosts, in the same order; empty if the brick stands in for the hosts.
    pub hosts: Vec<PathBuf>,
    /// Latency of each connection, ps; at least 1.
    pub latency_ps: u64,
    /// For how long a peer may stand still in real time.
    pub patience: Duration,
}

/// What has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// Simulated time, ps, of the last device to end.
    pub time_ps: u64,
    /// Messages from devices and hosts, without those that only tell the time.
    pub messages: u64,
}

impl Brick {
    /// Meets all devices and hosts, and runs until each connection has ended. `endpoint` makes a host, and `stop` is
    /// asked every few milliseconds, while it waits for peers too.
    ///
    /// # Errors
    /// Sockets cannot be used, a peer breaks the interface, stops or stands still, or `stop` says so.
    pub fn run(
        &self,
        mut endpoint: impl FnMut() -> Endpoint,
        mut stop: impl FnMut() -> bool,
    ) -> Result<Passed, BrickError> {
        let mut lanes = self.lanes(&mut endpoint, &mut stop)?;
        let mut reached = vec![(0, Instant::now()); lanes.len()];
        let mut asked = Instant::now();
        let mut passed = Passed { time_ps: 0, messages: 0 };
        while !lanes.is_empty() {
            let mut moved = false;
            for lane in &mut lanes {
                // Several steps in a row, while rings and time are in the cache.
                for _ in 0..64 {
                    let stepped = lane.step();
                    lane.check_whole()?;
                    let stepped = stepped?;
                    moved |= stepped;
                    if !stepped {
                        break;
                    }
                }
            }
            if !moved || asked.elapsed() > Duration::from_millis(50) {
                std::thread::yield_now();
                let now = Instant::now();
                if now - asked > Duration::from_millis(5) {
                    asked = now;
                    if stop() {
                        return Err(BrickError::Stopped);
                    }
                    self.watch(&mut lanes, &mut reached, now)?;
                }
            }
            for index in (0..lanes.len()).rev() {
                if lanes[index].is_over() {
                    let lane = lanes.swap_remove(index);
                    reached.swap_remove(index);
                    passed.time_ps = passed.time_ps.max(lane.now());
                    passed.messages += lane.messages();
                }
            }
        }
        Ok(passed)
    }

    fn lanes(
        &self,
        endpoint: &mut impl FnMut() -> Endpoint,
        stop: &mut impl FnMut() -> bool,
    ) -> Result<Vec<Lane>, BrickError> {
        if !self.hosts.is_empty() && self.hosts.len() != self.devices.len() {
            let problem = format!("{} devices and {} hosts", self.devices.len(), self.hosts.len());
            return Err(Refusal::new(problem).remedy("give a host for each device, or none").into());
        }
        if self.latency_ps == 0 {
            return Err(Refusal::of("latency", 0, "give at least 1 ps").into());
        }
        let pace = Pace { latency: self.latency_ps, interval: self.latency_ps };
        let listeners: Vec<Expected> =
            self.hosts.iter().map(|path| Expected::new(path)).collect::<Result<_, _>>()?;
        let mut connected = |path: &PathBuf| connect(path, &mut Wait::new(self.patience, &mut *stop));
        let devices: Vec<_> = self.devices.iter().map(&mut connected).collect::<Result<_, _>>()?;
        let mut listeners = listeners.into_iter();
        let mut lanes = Vec::new();
        for (device, intro) in devices {
            let mut wait = Wait::new(self.patience, &mut *stop);
            let host = listeners.next().map(|listener| listener.accept(&intro, &mut wait)).transpose()?;
            lanes.push(Lane::new(device, host, Requester::new(endpoint()), pace));
        }
        Ok(lanes)
    }

    /// Finds lanes whose time stands still, and peers that are gone.
    fn watch(
        &self,
        lanes: &mut [Lane],
        reached: &mut [(u64, Instant)],
        now: Instant,
    ) -> Result<(), BrickError> {
        for (lane, (time, since)) in lanes.iter_mut().zip(reached) {
            if lane.now() > *time {
                (*time, *since) = (lane.now(), now);
                continue;
            }
            if now - *since > Duration::from_millis(100) {
                lane.check_alive()?;
            }
            if now - *since > self.patience {
                return Err(lane.stuck(self.patience.as_secs_f64()));
            }
        }
        Ok(())
    }
}
