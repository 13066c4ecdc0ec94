//! The cost of the device interface: a test of a device that measures nothing, from `begin` to its outcome.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use pcie_bench::{
    Backend, BandwidthSlice, Bench, Benchmarks, Device, DeviceError, DeviceFacts, Host, HostFacts,
    LatencySlice, OpenError, Pulse, Samples, Start, Stop, TimerFacts, Work,
};
use pcie_store::Origin;
use pcie_workload::{Operation, Suite, Test, TestRecord};
use std::ops::ControlFlow;
use std::sync::Arc;

const TRANSACTIONS: u64 = 1 << 22;

/// A back end whose device always returns the same slice.
struct Nothing {
    slice: usize,
}

impl Backend for Nothing {
    fn kind(&self) -> &str {
        "nothing"
    }

    fn origin(&self) -> Origin {
        Origin::Emulated
    }

    fn open(&self) -> Result<Bench, OpenError> {
        let ticks = (0..self.slice as u32).map(|number| 400 + number % 50).collect();
        let slice = LatencySlice { ticks, elapsed_ns: 500.0 * self.slice as f64 };
        Ok(Bench { device: Box::new(Idle { slice }), host: Box::new(Still) })
    }
}

struct Idle {
    slice: LatencySlice,
}

impl Device for Idle {
    fn facts(&self) -> DeviceFacts {
        DeviceFacts {
            name: "nothing".into(),
            timer: TimerFacts { numerator_ns: 1, denominator: 1, cycles: 1 },
            dma_transfer_bytes_most: None,
            command_transfer_bytes_most: None,
            outstanding: None,
            hardware: None,
        }
    }

    fn begin(&mut self, _start: Start<'_>) {}

    fn thrash(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }

    fn warm(&mut self, _window_bytes: u64) -> Result<(), DeviceError> {
        Ok(())
    }

    fn latency(
        &mut self,
        test: &Test,
        sink: &mut dyn FnMut(&LatencySlice) -> ControlFlow<()>,
    ) -> Result<(), DeviceError> {
        for _ in 0..test.transactions / self.slice.ticks.len() as u64 {
            if sink(&self.slice).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn bandwidth(
        &mut self,
        test: &Test,
        sink: &mut dyn FnMut(BandwidthSlice) -> ControlFlow<()>,
    ) -> Result<(), DeviceError> {
        let transactions = self.slice.ticks.len() as u64;
        for _ in 0..test.transactions / transactions {
            if sink(BandwidthSlice { transactions, elapsed_ns: self.slice.elapsed_ns, anew: false })
                .is_break()
            {
                break;
            }
        }
        Ok(())
    }
}

struct Still;

impl Host for Still {
    fn facts(&self) -> HostFacts {
        HostFacts {
            name: "nothing".into(),
            sockets: None,
            llc_bytes: None,
            buffer_bytes: 1 << 20,
            device_socket: None,
            memory_socket: None,
            program_socket: None,
            hardware: None,
        }
    }

    fn thrash(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }

    fn warm(&mut self, _window_bytes: u64) -> Result<(), DeviceError> {
        Ok(())
    }
}

fn seam(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("device seam");
    group.throughput(Throughput::Elements(TRANSACTIONS)).sample_size(20);
    for (name, operation) in [("latencies", Operation::LatRd), ("bandwidth", Operation::BwRd)] {
        for slice in [512, 65_536] {
            let parameters = Test::random_dma(operation, 64, 8192, TRANSACTIONS);
            let record = TestRecord { family: "f".into(), name: "T".into(), parameters };
            let suite = Suite { name: "seam".into(), title: "t".into(), tests: vec![record] };
            let work = Benchmarks::new(suite, Samples::Full, 1, Arc::new(Nothing { slice }));
            let Ok(mut worker) = work.map_err(|_| ()).and_then(|work| work.open().map_err(|_| ())) else {
                continue;
            };
            let (stop, pulse) = (Stop::default(), Pulse::default());
            group.bench_function(BenchmarkId::new(name, slice), |bencher| {
                bencher.iter(|| worker.carry_out(0, &stop, &pulse));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, seam);
criterion_main!(benches);
