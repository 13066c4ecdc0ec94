//! Stores into a BAR that is memory, which the test outside the guest reads.

use super::address;
use pcie_bench::{Backend, DeviceError, MessageDevice, MessageStart, Pulse, Stop};
use pcie_vfio::pio::stores::{StoreLoop, fence};
use pcie_vfio::pio::{Pio, PioHostOptions, PioOptions};
use pcie_vfio::{Tree, Window};
use pcie_workload::{MessagePace, MessageTest, Way};
use std::fs::{OpenOptions, read_to_string};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Bytes of the BAR for each loop.
const AREA: u64 = 64 << 10;

/// A message whose bytes depend on the loop and the offset.
#[repr(align(64))]
struct Message([u8; AREA as usize]);

#[test]
#[ignore = "runs in the guest of make vm-test"]
fn every_loop_stores_through_both_mappings() {
    let function = Tree::here().function(address("MEMORY")).unwrap();
    let loops = StoreLoop::here();
    let mut names = Vec::new();
    for (number, (one, suffix)) in loops.iter().flat_map(|one| [(one, ""), (one, "_wc")]).enumerate() {
        let path = function.folder.join(format!("resource2{suffix}"));
        let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
        let window = Window::map(&file, number as u64 * AREA, AREA as usize).unwrap();
        let mut message = Box::new(Message([0; AREA as usize]));
        for (offset, byte) in message.0.iter_mut().enumerate() {
            *byte = (offset * 7 + offset / 256 + number) as u8;
        }
        // SAFETY: the window is as long as the message, and both are aligned to a line.
        unsafe { one.store(window.part(0, AREA as usize).unwrap(), &message.0) };
        fence();
        names.push(format!("{:?} {}{suffix}", one.instruction, one.width));
    }
    std::fs::write("/tmp/out/stores.txt", names.join("\n")).unwrap();
}

/// The file of the BAR.
fn resource(suffix: &str) -> PathBuf {
    Tree::here().function(address("MEMORY")).unwrap().folder.join(format!("resource2{suffix}"))
}

fn mapped(offset: u64) -> Window {
    let file = OpenOptions::new().read(true).write(true).open(resource("")).unwrap();
    Window::map(&file, offset, AREA as usize).unwrap()
}

/// The kernel's memory types of the mappings of 64 KiB at an offset of the BAR.
fn memory_types(offset: u64) -> Vec<String> {
    let function = Tree::here().function(address("MEMORY")).unwrap();
    let start = function.bars().iter().find(|bar| bar.number == 2).unwrap().start + offset;
    let listed = format!("PAT: [mem {start:#018x}-{:#018x}] ", start + AREA);
    let list = read_to_string("/sys/kernel/debug/x86/pat_memtype_list").unwrap();
    list.lines().filter_map(|line| Some(line.strip_prefix(&listed)?.to_owned())).collect()
}

fn opened(range: &str) -> Box<dyn MessageDevice> {
    let options = PioOptions { range: Some(range.into()) };
    Pio::new(address("MEMORY"), options, PioHostOptions { core: Some(0) }).unwrap().open().unwrap()
}

fn send(device: &mut dyn MessageDevice, way: Way) -> Result<(), DeviceError> {
    let test = MessageTest { pace: MessagePace::Stream, ..MessageTest::alone(way, 64, 8) };
    let (stop, pulse) = (Stop::default(), Pulse::default());
    device.send(MessageStart { position: 0, test: &test, stop: &stop, pulse: &pulse }).map(drop)
}

#[test]
#[ignore = "runs in the guest of make vm-test, with debugfs"]
fn each_test_has_one_mapping_of_its_type() {
    let mut device = opened("BAR2:4M+64K");
    for (way, memory_type) in [
        (Way::WriteCombined, "write-combining"),
        (Way::Uncached, "uncached-minus"),
        (Way::WriteCombinedFenced, "write-combining"),
    ] {
        send(&mut *device, way).unwrap();
        assert_eq!(memory_types(4 << 20), [memory_type], "{way:?}");
    }
    let types = &device.identity()["device"]["memory_types"];
    assert_eq!(types["uncached"], "uncached-minus");
    assert_eq!(types["write_combined"], "write-combining");
    drop(device);
    assert_eq!(memory_types(4 << 20), [""; 0]);
}

#[test]
#[ignore = "runs in the guest of make vm-test, with debugfs"]
fn write_combined_stores_beside_an_uncached_mapping_are_refused() {
    let mut other = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "stores::another_process_maps_the_bar"])
        .env("HOLD", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    while memory_types(5 << 20).is_empty() {
        assert!(other.try_wait().unwrap().is_none(), "the other process has ended");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let mut device = opened("BAR2:5M+64K");
    assert_eq!(device.identity()["device"]["memory_types"]["write_combined"], "uncached-minus");
    let refused = send(&mut *device, Way::WriteCombined).unwrap_err();
    let said = refused.to_string();
    assert!(matches!(refused, DeviceError::NotSupported(_)), "{said}");
    let named = format!("end each process that maps this BAR: {} (", other.id());
    for text in ["uncached-minus", named.as_str()] {
        assert!(said.contains(text), "{said}");
    }
    send(&mut *device, Way::Uncached).unwrap();
    drop(other.stdin.take());
    assert!(other.wait().unwrap().success());
    send(&mut *device, Way::WriteCombined).unwrap();
    assert_eq!(memory_types(5 << 20), ["write-combining"]);
}

/// The other process of the test above: holds a mapping until its input ends.
#[test]
#[ignore = "runs in the guest of make vm-test"]
fn another_process_maps_the_bar() {
    if std::env::var("HOLD").is_ok() {
        let _window = mapped(5 << 20);
        std::io::stdin().read_line(&mut String::new()).unwrap();
    }
}

#[test]
#[ignore = "runs in the guest of make vm-test"]
fn loads_and_doorbells_run_and_an_enqueue_says_that_it_cannot() {
    let mut device = opened("BAR2:6M+64K");
    for way in [Way::UncachedLoad, Way::StreamingLoad, Way::ReadModifyWrite, Way::Doorbell, Way::Uncached] {
        let size = if way == Way::Doorbell { 8 } else { 256 };
        for pace in [MessagePace::Alone, MessagePace::Stream] {
            let test = MessageTest { pace, ..MessageTest::alone(way, size, 8) };
            let (stop, pulse) = (Stop::default(), Pulse::default());
            let start = MessageStart { position: 0, test: &test, stop: &stop, pulse: &pulse };
            let result = device.send(start).unwrap_or_else(|error| panic!("{way:?} {pace:?}: {error}"));
            assert!(result.elapsed_ns > 0.0, "{way:?}");
            let timed = if pace == MessagePace::Alone { 8 } else { 0 };
            assert_eq!(result.latencies_ns.len(), timed, "{way:?}");
        }
    }
    let refused = send(&mut *device, Way::Enqueue).unwrap_err();
    assert!(matches!(refused, DeviceError::NotSupported(_)), "{refused}");
    assert!(refused.to_string().contains("memory behind a BAR declines nothing"), "{refused}");
}
