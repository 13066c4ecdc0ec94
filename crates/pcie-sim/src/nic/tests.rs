#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use super::*;
use crate::test_systems::{ib_011_nosp, snb};
use pcie_model::{Actor, Queues, Step, StepBytes};

const KEY: TestKey = TestKey { seed: 1, test: 0 };

fn step(what: &str, path: Path, kind: Kind, bytes: Option<u32>, every_packets: u32, batch: u32) -> Step {
    let actor = if matches!(kind, Kind::MmioRead | Kind::MmioWrite) { Actor::Host } else { Actor::Device };
    let bytes = bytes.map_or_else(|| serde_json::from_str("\"packet\"").unwrap(), StepBytes::Number);
    Step {
        what: what.into(),
        path,
        actor,
        kind,
        bytes,
        every_packets: Some(every_packets),
        batch,
        moderation_ns: None,
    }
}

/// The shipped niantic-dpdk.
fn niantic() -> Interactions {
    let steps = vec![
        step("doorbell", Path::Tx, Kind::MmioWrite, Some(4), 32, 1),
        step("descriptors", Path::Tx, Kind::DmaRead, Some(16), 1, 40),
        step("packet read", Path::Tx, Kind::DmaRead, None, 1, 1),
        step("write-back", Path::Tx, Kind::DmaWrite, Some(16), 1, 8),
        step("free-list pointer", Path::Rx, Kind::MmioWrite, Some(4), 32, 1),
        step("free-list descriptor", Path::Rx, Kind::DmaRead, Some(16), 1, 1),
        step("packet write", Path::Rx, Kind::DmaWrite, None, 1, 1),
        step("write-back", Path::Rx, Kind::DmaWrite, Some(16), 1, 1),
    ];
    let text = String::new;
    Interactions {
        name: "n".into(),
        description: text(),
        provenance: text(),
        steps,
        queues: Queues::default(),
        assumed: Default::default(),
    }
}

/// A machine with a device port of 4 B units without gaps or DLLPs, and `tags` tags.
fn machine(of: Machine, tags: u32, change: impl Fn(&mut crate::profile::System)) -> Machine {
    let mut system = of.system().clone();
    let device = &mut system.device;
    device.uplink_quantum_bytes = 4;
    device.uplink_data_quantum_bytes = 4;
    device.uplink_gap_bytes = 0;
    device.uplink_dllp_bytes = 0;
    device.dma.engine.write_part_bytes = 4096;
    device.dma.tags = None;
    device.dma.busy_request_interval_ns = 0.0;
    system.link.tags = tags;
    change(&mut system);
    Machine::new(system).unwrap()
}

fn traffic(frame_bytes: u64, direction: Direction, line_gbps: f64) -> Traffic {
    let ethernet = Ethernet { line_gbps, vlan: false, gap: pcie_model::InterpacketGap::Standard };
    Traffic { ethernet, frame_bytes, direction, warm_up_packets: 12_000, packets: 10_000, nics: 1 }
}

fn run(machine: &Machine, nic: &Interactions, traffic: Traffic) -> NicOutcome {
    NicSet::new(machine, nic, traffic, KEY).unwrap().run(&mut || false).unwrap()
}

#[test]
fn rate_matches_the_closed_form_where_the_link_binds() {
    let (machine, mut nic) = (machine(snb(), 256, |_| ()), niantic());
    (nic.queues.descriptors_held, nic.queues.ring_descriptors) = (512, 2048);
    let cases: [(Direction, &[u64]); 3] =
        [(Direction::Both, &[1500]), (Direction::Tx, &[512, 1500]), (Direction::Rx, &[64, 512, 1500])];
    for (direction, sizes) in cases {
        for &frame_bytes in sizes {
            let traffic = Traffic { packets: 30_000, ..traffic(frame_bytes, direction, 100.0) };
            let found = run(&machine, &nic, traffic);
            let bound = LinkBound::of(&machine, &nic, &traffic).unwrap().packets_per_s();
            let ratio = found.packets_per_s / bound;
            let case = format!("{direction:?} {frame_bytes}: {ratio} {:?}", found.bound);
            assert!((0.99..1.01).contains(&ratio), "{case}");
            assert!(matches!(found.bound, NicBound::WireUpstream | NicBound::WireDownstream), "{case}");
        }
    }
}

#[test]
fn sustains_a_line_slower_than_the_link_without_loss() {
    let (machine, nic) = (machine(snb(), 256, |_| ()), niantic());
    let found = run(&machine, &nic, traffic(1500, Direction::Both, 10.0));
    assert_eq!(found.bound, NicBound::Line);
    assert_eq!(found.dropped_share, 0.0);
    assert!((found.packets_per_s / found.line_packets_per_s - 1.0).abs() < 0.002);
    let longest = found.latencies_ns.iter().copied().fold(0.0, f64::max);
    assert!(longest < 2_000.0, "nothing queues: {longest}");
}

#[test]
fn overload_fills_the_fifo_and_drops_the_excess() {
    let (machine, nic) = (machine(snb(), 256, |_| ()), niantic());
    let found = run(&machine, &nic, traffic(64, Direction::Rx, 100.0));
    let lost = 1.0 - found.packets_per_s / found.line_packets_per_s;
    assert!(lost > 0.1 && (found.dropped_share - lost).abs() < 0.01, "{lost} {}", found.dropped_share);
    let packets = f64::from(nic.queues.receive_fifo_bytes) / 60.0;
    let deep_ns = packets * 1e9 / found.packets_per_s;
    let mean = found.latencies_ns.iter().sum::<f64>() / found.latencies_ns.len() as f64;
    assert!((mean / deep_ns - 1.0).abs() < 0.1, "{mean} {deep_ns}");
}

#[test]
fn translation_and_remote_memory_limit_small_packets_by_tags() {
    let nic = niantic();
    let near = machine(ib_011_nosp(), 32, |system| {
        system.iommu = crate::profile::IommuMode::Off;
        (system.memory_socket, system.program_socket) = (0, 0);
    });
    let far = machine(ib_011_nosp(), 32, |_| ());
    let traffic = traffic(128, Direction::Tx, 40.0);
    let (local, remote) = (run(&near, &nic, traffic), run(&far, &nic, traffic));
    assert_eq!(local.bound, NicBound::Line);
    assert!(remote.packets_per_s < 0.95 * local.packets_per_s, "{}", remote.packets_per_s);
    assert_eq!(remote.bound, NicBound::Tags);
    // A packet read takes about 666 ns, and over 200 ns more with a page walk.
    assert!(remote.steps[2].mean_ns > local.steps[2].mean_ns + 50.0);
}

#[test]
fn header_split_adds_a_tlp_per_packet() {
    let machine = machine(snb(), 256, |_| ());
    let whole = niantic();
    let mut split = niantic();
    split.queues.header_bytes = 128;
    let traffic = traffic(1024, Direction::Rx, 100.0);
    let (one, two) = (run(&machine, &whole, traffic), run(&machine, &split, traffic));
    let more = two.steps[6].upstream_bytes - one.steps[6].upstream_bytes;
    assert!((more - 24.0).abs() < 2.0, "the header of a write with 64-bit addresses: {more}");
}

/// The shipped niantic-dpdk with a receive interrupt moderated by time.
fn interrupting(moderation_ns: u32, every_packets: Option<u32>) -> Interactions {
    let mut nic = niantic();
    let one = step("interrupt", Path::Rx, Kind::Msi, Some(4), 1, 1);
    nic.steps.push(Step { every_packets, moderation_ns: Some(moderation_ns), ..one });
    nic.queues.ring_descriptors = 4096;
    nic
}

#[test]
fn interrupts_follow_period_and_count() {
    let machine = machine(snb(), 256, |_| ());
    // A frame of 1500 B on 10 Gb/s comes every 1,216 ns.
    let traffic = Traffic { packets: 40_000, ..traffic(1500, Direction::Rx, 10.0) };
    let apart_ns = traffic.ethernet.interval_ns(traffic.frame_bytes);
    for (moderation_ns, every_packets, expected_ns) in [
        (50_000, None, 50_000.0),
        (50_000, Some(64), 50_000.0),
        (50_000, Some(16), 16.0 * apart_ns),
        (1_000, None, apart_ns),
        (1_000, Some(64), apart_ns),
    ] {
        let nic = interrupting(moderation_ns, every_packets);
        let found = run(&machine, &nic, traffic);
        let case = format!("{moderation_ns} {every_packets:?}");
        assert_eq!((found.bound, found.dropped_share), (NicBound::Line, 0.0), "{case}");
        let interrupts = &found.steps[8];
        assert!(
            (interrupts.accesses_per_s * expected_ns / 1e9 - 1.0).abs() < 0.003,
            "{case}: {interrupts:?}"
        );
        let by_formula = nic.steps[8].per_packet(found.packets_per_s);
        let crossed = interrupts.upstream_bytes / 28.0;
        assert!((crossed / by_formula - 1.0).abs() < 0.003, "{case}: {crossed} {by_formula}");
    }
}

#[test]
fn packets_wait_half_the_interrupt_period_on_average() {
    let machine = machine(snb(), 256, |_| ());
    let traffic = Traffic { packets: 40_000, ..traffic(1500, Direction::Rx, 10.0) };
    let mean = |moderation_ns| {
        let found = run(&machine, &interrupting(moderation_ns, None), traffic);
        found.latencies_ns.iter().sum::<f64>() / found.latencies_ns.len() as f64
    };
    let more_ns = mean(50_000) - mean(1_000);
    // A packet that arrives just after an interrupt waits for a whole period.
    assert!((more_ns / 25_000.0 - 1.0).abs() < 0.03, "{more_ns}");
}

#[test]
fn a_ring_that_fills_between_interrupts_drops_packets() {
    let machine = machine(snb(), 256, |_| ());
    let mut nic = interrupting(150_000, None);
    (nic.queues.ring_descriptors, nic.queues.receive_fifo_bytes) = (96, 32 << 10);
    // 123 packets arrive in a period.
    let found = run(&machine, &nic, Traffic { packets: 20_000, ..traffic(1500, Direction::Rx, 10.0) });
    assert!((found.packets_per_s * 150_000.0 / 1e9 / 96.0 - 1.0).abs() < 0.01, "{}", found.packets_per_s);
    let lost = 1.0 - found.packets_per_s / found.line_packets_per_s;
    assert!((found.dropped_share - lost).abs() < 0.01, "{} {lost}", found.dropped_share);
    assert_eq!(found.bound, NicBound::Ring);
}

#[test]
fn moderated_interrupts_match_the_closed_form_where_the_link_binds() {
    let machine = machine(snb(), 256, |_| ());
    let traffic = Traffic { packets: 40_000, ..traffic(64, Direction::Rx, 100.0) };
    let rate = |moderation_ns, every_packets| {
        let nic = interrupting(moderation_ns, every_packets);
        let found = run(&machine, &nic, traffic).packets_per_s;
        let bound = LinkBound::of(&machine, &nic, &traffic).unwrap().packets_per_s();
        assert!((found / bound - 1.0).abs() < 0.01, "{moderation_ns} {every_packets:?}: {found} {bound}");
        bound
    };
    let (often, seldom, counted) = (rate(100, None), rate(10_000, None), rate(10_000, Some(4)));
    assert!(often < 0.98 * seldom && counted < 0.995 * often, "{often} {seldom} {counted}");
}

#[test]
fn in_flight_is_rate_times_latency() {
    let (machine, nic) = (machine(snb(), 256, |_| ()), niantic());
    let found = run(&machine, &nic, traffic(256, Direction::Both, 40.0));
    for (step, outcome) in nic.steps.iter().zip(&found.steps) {
        let expected = found.packets_per_s * step.per_packet(found.packets_per_s) * outcome.mean_ns / 1e9;
        assert!((outcome.in_flight / expected - 1.0).abs() < 0.05, "{}: {outcome:?}", step.what);
    }
}

#[test]
fn refuses_impossible_queues_by_name() {
    let machine = machine(snb(), 32, |_| ());
    let wrong = |change: &dyn Fn(&mut Interactions)| {
        let mut nic = niantic();
        change(&mut nic);
        NicSet::new(&machine, &nic, traffic(1500, Direction::Both, 40.0), KEY).err().unwrap().to_string()
    };
    assert!(wrong(&|nic| nic.queues.ring_descriptors = 64).contains("ring_descriptors"));
    assert!(wrong(&|nic| nic.queues.descriptors_held = 32).contains("descriptors_held"));
    assert!(wrong(&|nic| nic.queues.buffer_bytes = 1024).contains("buffer_bytes"));
    assert!(wrong(&|nic| nic.queues.buffers = 1 << 20).contains("fewer buffers"));
    assert!(wrong(&|nic| nic.steps.retain(|step| step.path == Path::Tx)).contains("rx"));
}

/// A NIC that receives over several queue pairs, with buffers as a kernel's driver has them.
fn kernel_nic(packets_per_page: u32) -> Interactions {
    let mut nic = niantic();
    nic.steps.retain(|step| step.path == Path::Rx && step.kind != Kind::MmioWrite);
    nic.queues.pairs = 8;
    nic.queues.packets_per_page = packets_per_page;
    nic.queues.buffers = 8192;
    nic
}

fn translating(life: crate::profile::PageLife, walkers: u32) -> Machine {
    machine(ib_011_nosp(), 256, |system| {
        let iommu = &mut system.host.iommu;
        iommu.page_life = Some(life);
        (iommu.walkers, iommu.walk_ns, iommu.walker_busy_ns) = (walkers, 800.0, 800.0);
        (iommu.busy_walk_spread, iommu.walk_region_bytes, iommu.tlb.entries) = (0.0, 0, 64);
        system.memory_socket = 0;
    })
}

#[test]
fn pages_that_come_anew_miss_once_each_and_walkers_bind() {
    use crate::profile::PageLife;
    let machine = translating(PageLife::Recycled, 1);
    for (packets_per_page, misses) in [(1, 1.0), (2, 0.5)] {
        let nic = kernel_nic(packets_per_page);
        let found = run(&machine, &nic, traffic(1500, Direction::Rx, 100.0));
        assert!((misses..1.15 * misses).contains(&found.walks_per_packet), "{}", found.walks_per_packet);
        assert_eq!(found.bound, NicBound::Translation);
        let walked_ns = found.walks_per_packet * 800.0;
        let took_ns = 1e9 / found.packets_per_s;
        assert!((1.0..1.1).contains(&(took_ns / walked_ns)), "{took_ns} ns, walks {walked_ns} ns");
    }
}

#[test]
fn a_strict_invalidation_makes_walks_longer_and_super_pages_make_none() {
    use crate::profile::{Invalidation, IommuMode, PageLife};
    let strict = |life, invalidation| {
        let mut system = translating(life, 1).system().clone();
        system.host.iommu.invalidation = Some(invalidation);
        system.host.iommu.strict_walk_reads = Some(2.0);
        run(&Machine::new(system).unwrap(), &kernel_nic(1), traffic(1500, Direction::Rx, 100.0))
    };
    let lazy = strict(PageLife::Unmapped, Invalidation::Lazy).packets_per_s;
    let ratio = strict(PageLife::Unmapped, Invalidation::Strict).packets_per_s / lazy;
    assert!((ratio - 0.5).abs() < 0.02, "{ratio}");
    let recycled = strict(PageLife::Recycled, Invalidation::Strict).packets_per_s / lazy;
    assert!((recycled - 1.0).abs() < 0.01, "no page is unmapped: {recycled}");
    let mut system = translating(PageLife::Recycled, 1).system().clone();
    system.iommu = IommuMode::SuperPages;
    let found = run(&Machine::new(system).unwrap(), &kernel_nic(1), traffic(1500, Direction::Rx, 40.0));
    assert_eq!((found.bound, found.walks_per_packet < 0.001), (NicBound::Line, true));
}

#[test]
fn busy_cores_slow_a_nic_down_and_memory_is_named() {
    let machine = machine(snb(), 256, |system| {
        system.host.memory.saturated_gbytes_per_s = Some(9.0);
        system.host.load = Some(crate::profile::CoreLoad {
            cores: 4,
            kind: crate::profile::LoadKind::ReadWrite,
            core_share: 0.5,
        });
    });
    let found = run(&machine, &kernel_nic(1), traffic(1500, Direction::Rx, 40.0));
    assert_eq!(found.bound, NicBound::Memory);
    // Lines of 64 B that a packet of 1,496 B and its descriptor touch.
    let lines = 24.0 + 1.0;
    let expected = 9.0 / 3.0 * 1e9 / (64.0 * lines);
    assert!((found.packets_per_s / expected - 1.0).abs() < 0.03, "{} {expected}", found.packets_per_s);
}

#[test]
fn two_nics_share_what_one_root_complex_gives() {
    let nic = kernel_nic(1);
    let twice = |machine: &Machine| {
        let traffic = Traffic { nics: 2, ..traffic(1500, Direction::Rx, 40.0) };
        let mut single = run(machine, &nic, Traffic { nics: 1, ..traffic });
        single.latencies_ns.clear();
        (single.packets_per_s, run(machine, &nic, traffic))
    };
    let (alone, idle) = twice(&machine(snb(), 256, |_| ()));
    assert!((idle.packets_per_s / alone - 1.0).abs() < 1e-3, "each has a link of its own");
    // Both together get what memory gives, in lines of 64 B of packets and descriptors.
    let saturated = machine(snb(), 256, |system| system.host.memory.saturated_gbytes_per_s = Some(6.0));
    let (_, shared) = twice(&saturated);
    let expected = 6.0e9 / 2.0 / (64.0 * 25.0);
    let ratio = shared.packets_per_s / expected;
    assert!((0.97..1.03).contains(&ratio), "{ratio}");
    assert_eq!(shared.bound, NicBound::Memory);
    // One walker serves the misses of both, and their rings compete for the entries of one IO-TLB.
    let translating = translating(crate::profile::PageLife::Recycled, 1);
    let (alone, both) = twice(&translating);
    let walking = 2.0 * both.packets_per_s * both.walks_per_packet * 800e-9;
    assert!((0.97..1.01).contains(&walking), "{walking}");
    assert!(2.0 * both.packets_per_s < 0.95 * alone, "{} {alone}", both.packets_per_s);
}

#[test]
fn buffers_of_many_nics_have_to_fit() {
    let (machine, mut nic) = (machine(snb(), 256, |_| ()), kernel_nic(1));
    nic.queues.buffers = 16_384;
    let traffic = Traffic { nics: 4, ..traffic(1500, Direction::Rx, 10.0) };
    let refused = NicSet::new(&machine, &nic, traffic, KEY).unwrap_err().to_string();
    assert!(refused.contains("the system's host buffer has"), "{refused}");
}
