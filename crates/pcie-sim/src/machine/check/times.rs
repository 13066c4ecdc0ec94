//! The times of a profile, refused where they would not add up in whole numbers of picoseconds.

use crate::machine::error::Checked;
use crate::profile::{BrokenRule, System};

/// The longest time that a profile may give for a step that a transaction waits for, ns. Steps take nanoseconds to
/// microseconds; that times add up in whole numbers of 64 bits, whatever waits for what, hangs on it.
const TRANSACTION_NS_MAX: f64 = 1e5;
const TRANSACTION_TIME: &str = "give ns, 0 to 100000";
/// The same of what comes between transactions, and of idle states: a second.
const PAUSE_NS_MAX: f64 = 1e9;
const PAUSE_TIME: &str = "give ns, 0 to 1000000000";

/// Refuses a timer whose ticks cannot be counted, and times that are none, or too long.
pub(super) fn times(system: &System) -> Checked {
    let timer = system.device.timer;
    let parts = [timer.numerator_ns, timer.denominator, timer.cycles];
    let tick = f64::from(u32::try_from(timer.numerator_ns).unwrap_or(0)) / timer.denominator as f64;
    if parts.iter().any(|part| !(1..=u64::from(u32::MAX)).contains(part)) || !(1e-3..=1e9).contains(&tick) {
        let value = format!("{}/{} ns, {} cycles", timer.numerator_ns, timer.denominator, timer.cycles);
        let remedy = "give a tick of 1 ps to 1 s in whole numbers of 32 bits above 0";
        return Err(BrokenRule::new("device.timer", value, remedy));
    }
    for (most, remedy, times) in [
        (TRANSACTION_NS_MAX, TRANSACTION_TIME, transaction_times(system)),
        (PAUSE_NS_MAX, PAUSE_TIME, pauses(system)),
    ] {
        if let Some((key, ns)) = times.into_iter().find(|(_, ns)| !(0.0..=most).contains(ns)) {
            return Err(BrokenRule::new(key, ns, remedy));
        }
    }
    Ok(())
}

/// The times of the steps that a transaction waits for, by key.
fn transaction_times(system: &System) -> Vec<(&'static str, f64)> {
    let (dma, root) = (&system.device.dma, &system.host.root_complex);
    let (engine, memory, iommu) = (&dma.engine, &system.host.memory, &system.host.iommu);
    let mut times = vec![
        ("device.dma.read_overhead_ns", dma.read_overhead_ns),
        ("device.dma.write_overhead_ns", dma.write_overhead_ns),
        ("device.dma.write_to_read_ns", dma.write_to_read_ns),
        ("device.dma.write_acknowledged_ns", dma.write_acknowledged_ns),
        ("device.dma.request_interval_ns", dma.request_interval_ns),
        ("device.dma.busy_request_interval_ns", dma.busy_request_interval_ns),
        ("device.dma.partial_word_ns", dma.partial_word_ns),
        ("device.dma.unaligned_card_ns", dma.unaligned_card_ns),
        ("device.dma.unaligned_host_ns", dma.unaligned_host_ns),
        ("device.dma.engine.read_fixed_ns", engine.read_fixed_ns),
        ("device.dma.engine.write_fixed_ns", engine.write_fixed_ns),
        ("device.dma.engine.segment_ns", engine.segment_ns),
        ("device.dma.engine.word_ns", engine.word_ns),
        ("device.dma.engine.short_tail_ns", engine.short_tail_ns),
        ("device.dma.engine.misaligned_single_ns", engine.misaligned_single_ns),
        ("device.dma.engine.boundary_aligned_ns", engine.boundary_aligned_ns),
        ("device.dma.engine.boundary_misaligned_ns", engine.boundary_misaligned_ns),
        ("host.root_complex.read_ns", root.read_ns),
        ("host.root_complex.busy_read_ns", root.busy_read_ns),
        ("host.root_complex.write_ns", root.write_ns),
        ("host.root_complex.line_interval_ns", root.line_interval_ns),
        ("host.root_complex.completion_interval_ns", root.completion_interval_ns),
        ("host.root_complex.flight_ns", root.flight_ns),
        ("host.root_complex.request_interval_ns", root.request_interval_ns),
        ("host.root_complex.write_interval_ns", root.write_interval_ns),
        ("host.root_complex.write_line_ns", root.write_line_ns),
        ("host.root_complex.partial_line_busy_ns", root.partial_line_busy_ns),
        ("host.root_complex.jitter_ns", root.jitter_ns),
        ("host.root_complex.busy_jitter_ns", root.busy_jitter_ns),
        ("host.root_complex.conflict_ns", root.conflict_ns),
        ("host.root_complex.credit_return_ns", root.credit_return_ns),
        ("host.memory.host_line_ns", memory.host_line_ns),
        ("host.memory.miss_ns", memory.miss_ns),
        ("host.memory.busy_miss_ns", memory.busy_miss_ns),
        ("host.memory.remote_ns", memory.remote_ns),
        ("host.memory.remote_dirty_ns", memory.remote_dirty_ns),
        ("host.memory.busy_remote_ns", memory.busy_times().1),
        ("host.memory.busy_remote_dirty_ns", memory.busy_times().2),
        ("host.memory.ownership_ns", memory.ownership_ns),
        ("host.memory.remote_ownership_ns", memory.remote_ownership_ns),
        ("host.memory.untouched_ns", memory.untouched_ns),
        ("host.memory.refresh.duration_ns", memory.refresh.duration_ns),
        ("host.memory.refresh.caught_ns", memory.refresh.caught_ns),
        ("host.memory.refresh.again_ns", memory.refresh.again_ns),
        ("host.iommu.walk_ns", iommu.walk_ns),
        ("host.iommu.walker_busy_ns", iommu.walker_busy_ns),
    ];
    if let Some(command) = &system.device.command {
        times.extend([
            ("device.command.read_overhead_ns", command.read_overhead_ns),
            ("device.command.read_byte_ns", command.read_byte_ns),
            ("device.command.write_byte_ns", command.write_byte_ns),
            ("device.command.read_split_ns", command.read_split_ns),
            ("device.command.write_split_ns", command.write_split_ns),
            ("device.command.write_loop_byte_ns", command.write_loop_byte_ns),
        ]);
    }
    times
}

/// The times between transactions, and those of idle states, by key.
fn pauses(system: &System) -> Vec<(&'static str, f64)> {
    let mut times = vec![
        ("device.dma.loop_ns", system.device.dma.loop_ns),
        ("host.memory.refresh.interval_ns", system.host.memory.refresh.interval_ns),
    ];
    if let Some(command) = &system.device.command {
        times.push(("device.command.loop_ns", command.loop_ns));
        times.push(("device.command.write_loop_ns", command.write_loop_ns));
        if let Some(window) = &command.bar_window {
            times.push(("device.command.bar_window.moved_ns", window.moved_ns));
            times.push(("device.command.bar_window.move_ns", window.move_ns));
        }
    }
    if let Some(idle) = &system.host.idle {
        times.extend([
            ("host.idle.gap_ns", idle.gap_ns),
            ("host.idle.wake_ns", idle.wake_ns),
            ("host.idle.wake_floor_ns", idle.wake_floor_ns),
            ("host.idle.stalls.duration_ns", idle.stalls.duration_ns),
        ]);
        for cluster in &idle.clusters {
            times.push(("host.idle.clusters.low_ns", cluster.low_ns));
            times.push(("host.idle.clusters.high_ns", cluster.high_ns));
        }
    }
    times
}
