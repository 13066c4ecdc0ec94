//! A host from a description and options.

use crate::caches::Prepared;
use crate::endpoint::Endpoint;
use crate::port::Port;
use pcie_refusal::Refusal;
use pcie_schema::Fitting as _;
use pcie_sim::profile::System;
use pcie_sim::{Machine, TestKey};
use pcie_workload::{CacheState, Operation};
use std::sync::Arc;

/// What is in the host's caches at time 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PcielabCache {
    /// Nothing of the buffer.
    Cold = 0,
    /// Lines of the whole buffer that a device has written at random.
    DeviceThrash = 1,
    /// The window, as a device has written it.
    DeviceWarm = 2,
    /// The window, as the CPU has written it.
    HostWarm = 3,
}

/// Options of a host. Zero all of it, then set what matters.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PcielabOptions {
    /// Seed of all random draws.
    pub seed: u64,
    /// Bytes of the window that is warm, from the start of the buffer; more than the buffer means all of it.
    pub window_bytes: u64,
    /// A PcielabCache.
    pub cache: u32,
    /// 0.
    pub reserved: u32,
}

/// Makes the endpoint of a host, or says what is wrong.
pub(super) fn endpoint(json: &[u8], options: Option<&PcielabOptions>) -> Result<Endpoint, String> {
    let options =
        options.copied().unwrap_or(PcielabOptions { seed: 1, window_bytes: 0, cache: 0, reserved: 0 });
    let cache = cache(options.cache).ok_or_else(|| format!("cache is {}: give 0 to 3", options.cache))?;
    let system = system(json).map_err(|refusal| refusal.to_string())?;
    let machine = Arc::new(Machine::without_device(system).map_err(|refusal| refusal.to_string())?);
    let key = TestKey { seed: options.seed, test: 0 };
    let state = Prepared { cache, window_bytes: options.window_bytes }.state(&machine, key);
    Ok(Endpoint::new(Port::new(machine, key, state, Operation::BwRdwr)))
}

fn system(json: &[u8]) -> Result<System, Refusal> {
    let value = serde_json::from_slice(json).map_err(|error| Refusal::new(error).about("system"))?;
    System::read(value).map_err(|refusal| refusal.about("system"))
}

fn cache(number: u32) -> Option<CacheState> {
    match number {
        0 => Some(CacheState::Cold),
        1 => Some(CacheState::DeviceThrash),
        2 => Some(CacheState::DeviceWarm),
        3 => Some(CacheState::HostWarm),
        _ => None,
    }
}
