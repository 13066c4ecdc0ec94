//! Values that the simulator could not work with, refused by name.

use super::SystemError;
use crate::profile::{IommuMode, System};
use pcie_workload::{LINE_BYTES, PAGE_BYTES};

pub(super) fn check_values(system: &System) -> Result<(), SystemError> {
    let wrong = |key, value: String, remedy| {
        Err(SystemError::Value { system: system.name.clone(), key, value, remedy })
    };
    let chunks = system.chunk_addresses.len() as u64;
    if !system.chunk_bytes.is_power_of_two()
        || system.chunk_bytes < PAGE_BYTES
        || system.chunk_bytes > 1 << 36
    {
        return wrong("chunk_bytes", system.chunk_bytes.to_string(), "give a power of two, 4096 to 2^36");
    }
    if chunks == 0 || chunks.saturating_mul(system.chunk_bytes) > 1 << 36 {
        return wrong(
            "chunk_addresses",
            format!("{chunks} chunks"),
            "give at least one, at most 64 GiB together",
        );
    }
    if let Some(address) = system.chunk_addresses.iter().find(|address| *address % system.chunk_bytes != 0) {
        return wrong("chunk_addresses", format!("{address:#x}"), "give multiples of chunk_bytes");
    }
    let sockets = [
        ("device_socket", system.device_socket),
        ("memory_socket", system.memory_socket),
        ("program_socket", system.program_socket),
    ];
    for (key, socket) in sockets {
        if socket >= system.host.sockets {
            return wrong(key, socket.to_string(), "give a socket that host.sockets has, counted from 0");
        }
    }
    let cache = &system.host.llc;
    if cache.ways == 0 || cache.ddio_ways == 0 || cache.ddio_ways > cache.ways || cache.slices == 0 {
        let value = format!("{} ways, {} for DDIO, {} slices", cache.ways, cache.ddio_ways, cache.slices);
        return wrong(
            "host.llc",
            value,
            "give at least one of each, and no more ways for DDIO than there are",
        );
    }
    if cache.llc_bytes < LINE_BYTES * u64::from(cache.ways) * u64::from(cache.slices) {
        return wrong("host.llc.llc_bytes", cache.llc_bytes.to_string(), "give at least one set per slice");
    }
    let timer = system.device.timer;
    if timer.numerator_ns == 0 || timer.denominator == 0 || timer.cycles == 0 {
        return wrong("device.timer", format!("{timer:?}"), "give values above 0");
    }
    if system.link.tags == 0 {
        return wrong("link.tags", "0".into(), "give at least 1");
    }
    if system.device.dma.outstanding == 0 {
        return wrong("device.dma.outstanding", "0".into(), "give at least 1");
    }
    let engine = &system.device.dma.engine;
    if engine.segment_bytes == 0 || engine.word_bytes == 0 || engine.write_piece_bytes == 0 {
        return wrong("device.dma.engine", "a size of 0".into(), "give bytes above 0");
    }
    if system.iommu != IommuMode::Off && system.host.iommu.walkers == 0 {
        return wrong("host.iommu.walkers", "0".into(), "give at least 1");
    }
    let complex = &system.host.root_complex;
    let posted_units = system.link.mps_bytes.div_ceil(16);
    if complex.posted_header_credits == 0
        || complex.posted_data_credits < posted_units
        || complex.non_posted_header_credits == 0
    {
        let value = format!(
            "{} posted headers, {} posted data, {} non-posted headers",
            complex.posted_header_credits, complex.posted_data_credits, complex.non_posted_header_credits
        );
        return wrong("host.root_complex credits", value, "give room for at least one TLP of each kind");
    }
    for (key, stretch) in [
        ("host.root_complex.downlink_stretch", complex.downlink_stretch),
        ("host.root_complex.uplink_stretch", complex.uplink_stretch),
    ] {
        if !(0.5..=10.0).contains(&stretch) {
            return wrong(key, stretch.to_string(), "give the serialisation time over the raw one, near 1");
        }
    }
    Ok(())
}
