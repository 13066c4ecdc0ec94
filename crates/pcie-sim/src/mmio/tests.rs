use pcie_model::mmio::{
    Bar, BarReads, BarStores, Between, CoreLoads, CoreProfile, CoreRoot, CoreStores, Corner, EvictedOrder,
};
use pcie_time::{Draws, Stream};
use pcie_wire::LinkParameters;

use super::*;

/// Cores and links drawn: 30, or as many as PCIELAB_MMIO_CASES says (`make mmio-agreement`).
fn cases() -> u64 {
    std::env::var("PCIELAB_MMIO_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(30)
}

/// Random numbers in order.
struct Random(Draws, u64);

impl Random {
    fn within(&mut self, least: f64, most: f64) -> f64 {
        self.1 += 1;
        least + (most - least) * self.0.fraction(self.1)
    }

    fn of<T: Copy>(&mut self, options: &[T]) -> T {
        self.1 += 1;
        options[self.0.below(self.1, options.len() as u64) as usize]
    }
}

fn drawn(random: &mut Random) -> Mmio {
    let core = CoreProfile {
        name: "drawn".into(),
        year: 2020,
        generation: 5,
        processors: vec![],
        stores: CoreStores {
            buffers: Between::of(random.within(4.0, 32.0).floor()),
            merged_bytes: random.of(&[16, 32, 64]),
            release_ns: Between::of(random.within(20.0, 200.0)),
            fill_ns: Between::of(random.within(0.5, 8.0)),
            narrow_ns: Between::of(random.within(0.3, 4.0)),
            uncached_ns: Between::of(random.within(20.0, 250.0)),
            fence_ns: Between::of(random.within(20.0, 150.0)),
            direct_ns: Some(Between::of(random.within(5.0, 120.0))),
            page_fault_ns: Between::of(random.within(1000.0, 9000.0)),
            evicted: EvictedOrder::Any,
        },
        loads: CoreLoads {
            host_ns: Between::of(random.within(80.0, 500.0)),
            streaming_lines: Between::of(random.within(4.0, 24.0).floor()),
            widest_bytes: 64,
            enqueues: true,
        },
        root: CoreRoot {
            queue_bytes: Between::of(random.within(64.0, 4096.0)),
            quantum_bytes: random.of(&[4, 8, 16, 32]),
            link_ns: Between::of(random.within(20.0, 150.0)),
            switch_ns: Between::of(random.within(80.0, 160.0)),
            remote_ns: Between::of(random.within(20.0, 150.0)),
        },
    };
    let bar = Bar {
        name: "drawn".into(),
        devices: vec![],
        stores: BarStores {
            drain_gbytes_per_s: Between::of(random.within(1.0, 60.0)),
            posted_bytes: Between::of(random.within(256.0, 32_768.0)),
            poll_ns: Between::of(random.within(50.0, 900.0)),
        },
        reads: BarReads { answer_ns: Between::of(random.within(50.0, 1000.0)) },
    };
    let (generation, lanes) = (random.of(&[1, 2, 3, 4, 5]), random.of(&[1, 4, 8, 16]));
    let link = LinkConfiguration::try_from(LinkParameters::new(generation, lanes, 256, 512)).unwrap();
    Mmio::new(core, bar, link).unwrap()
}

fn simulated(mmio: &Mmio, access: &Access) -> AccessOutcome {
    simulate(mmio, access, &mmio.values(Corner::Usual), &mut || false).unwrap().unwrap()
}

/// How far apart the closed form and the simulation are: of the rate of a stream, of the time of one access.
fn apart(mmio: &Mmio, access: &Access) -> (f64, f64) {
    let (times, outcome) = (mmio.times(access).unwrap(), simulated(mmio, access));
    assert_eq!(outcome.tlps, times.tlps * u64::from(access.cores));
    let off = |found: f64, expected: f64| (found / expected - 1.0).abs();
    let rate = off(outcome.gbytes_per_s, times.gbytes_per_s.usual);
    (rate, off(outcome.core_ns, times.core_ns.usual).max(off(outcome.done_ns, times.done_ns.usual)))
}

#[test]
fn closed_form_and_simulation_agree_within_2_percent_over_random_cores_and_links() {
    let mut random = Random(Draws::new(11, 0, Stream::Payload), 0);
    let mut worst = 0.0f64;
    for case in 0..cases() {
        let mmio = drawn(&mut random);
        let cores = random.of(&[1, 1, 1, 2, 4]);
        let switches = random.of(&[0, 0, 1, 2]);
        let remote = random.of(&[false, true]);
        for (instruction, size_bytes, widths) in [
            (Instruction::UncachedStore, 16 << 10, &[4, 8, 16, 64][..]),
            (Instruction::CombinedStore, 128 << 10, &[4, 8, 32, 64]),
            (Instruction::DirectStore, 128 << 10, &[64]),
            (Instruction::EnqueueStore, 4096, &[64]),
            (Instruction::UncachedLoad, 2048, &[1, 4, 8, 32, 64]),
            (Instruction::StreamingLoad, 128 << 10, &[64]),
            (Instruction::ReadModifyWrite, 512, &[4, 8]),
        ] {
            let access = Access {
                width_bytes: Some(random.of(widths)),
                cores,
                switches,
                remote,
                fenced: true,
                ..Access::of(instruction, size_bytes)
            };
            let (rate, time) = apart(&mmio, &access);
            assert!(rate < 0.02 && time < 0.02, "case {case}: {access:?} {rate} {time} {mmio:?}");
            worst = worst.max(rate).max(time);
        }
        // One access of at most a line.
        for instruction in [Instruction::Doorbell, Instruction::Exchange, Instruction::UncachedLoad] {
            let size_bytes = random.of(&[1, 4, 8, 16, 64]);
            let access = Access {
                width_bytes: Some(64),
                switches,
                remote,
                window_set: random.of(&[false, true]),
                ..Access::of(instruction, size_bytes)
            };
            let (_, time) = apart(&mmio, &access);
            assert!(time < 0.02, "case {case}: {access:?} {time}");
            worst = worst.max(time);
        }
    }
    println!("{} cores and links: at most {:.2} % apart", cases(), 100.0 * worst);
}

#[test]
fn a_run_stops_when_asked_and_refuses_too_many_tlps() {
    let mmio = drawn(&mut Random(Draws::new(1, 0, Stream::Payload), 0));
    let values = mmio.values(Corner::Usual);
    let stream = Access::of(Instruction::CombinedStore, 1 << 20);
    assert_eq!(simulate(&mmio, &stream, &values, &mut || true), Ok(None));
    let endless = Access::of(Instruction::UncachedLoad, 1 << 30);
    let refused = simulate(&mmio, &endless, &values, &mut || false).unwrap_err();
    assert!(refused.to_string().starts_with("size_bytes is 1073741824: give less"), "{refused}");
}
