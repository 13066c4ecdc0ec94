//! The contract of devices that take messages. It counts leaks over the process, so this test has its own
//! binary.

use pcie_bench::contract::{MessageTrial, Trial, check_messages};
use pcie_bench::{
    Backend, DeviceError, Faults, Faulty, MessageDevice, MessageResult, MessageStart, OpenError,
};
use pcie_store::Origin;
use pcie_workload::{MessageTest, Way};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

type Device = Box<dyn MessageDevice>;

/// Takes a message in a microsecond, of at most 4 KiB.
struct Plain;

impl Backend<Device> for Plain {
    fn kind(&self) -> &str {
        "plain"
    }

    fn origin(&self) -> Origin {
        Origin::Simulated
    }

    fn open(&self) -> Result<Device, OpenError> {
        Ok(Box::new(Self))
    }
}

impl MessageDevice for Plain {
    fn identity(&self) -> Map<String, Value> {
        Map::new()
    }

    fn send(&mut self, start: MessageStart<'_>) -> Result<MessageResult, DeviceError> {
        if start.test.size_bytes > 4096 {
            let reason = format!("size_bytes is {}: 4096 at most", start.test.size_bytes);
            return Err(DeviceError::NotSupported(reason));
        }
        let mut result = MessageResult::default();
        while result.latencies_ns.len() < start.test.messages as usize && !start.stop.is_requested() {
            result.latencies_ns.push(1000.0);
            result.elapsed_ns += 1000.0;
            thread::sleep(Duration::from_micros(1));
        }
        Ok(result)
    }
}

fn message(size_bytes: u64) -> MessageTest {
    MessageTest::alone(Way::Uncached, size_bytes, 10)
}

fn found(faults: Faults, trial: &MessageTrial) -> String {
    check_messages(&Faulty::new(Arc::new(Plain), faults), trial).join("; ")
}

#[test]
fn contract_accepts_a_conforming_device_and_reports_violations() {
    let trial = MessageTrial {
        possible: vec![message(64)],
        refused: vec![message(8192)],
        failing: vec![message(64)],
    };
    let failing = Faults { from: Trial::FAILING_POSITION, failures: 1.0, ..Faults::default() };
    assert_eq!(found(failing, &trial), "");
    assert!(found(Faults::default(), &trial).contains("it should fail, and did not"));
    let counts = Faults { wrong_counts: 1.0, ..Faults::default() };
    assert!(found(counts, &trial).contains("11 latencies of 10"));
    let silent = Faults { silences: 1.0, silence_ms: 500, ..Faults::default() };
    assert!(found(silent, &trial).contains("after the request"));
    let refused = MessageTrial { refused: vec![message(64)], ..trial.clone() };
    assert!(found(failing, &refused).contains("not refused"));
    assert!(found(failing, &MessageTrial { possible: vec![], ..trial }).contains("nothing was tried"));
}
