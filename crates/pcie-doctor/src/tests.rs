//! On a machine with one fault, the rule for it fires and no other.

use std::collections::BTreeSet;

use pcie_evidence::{
    Control, ErrorReporting, Function, Host, IommuPages, Kind, LinkEnd, LogEvent, LogKind, Peer,
    ResizableBar, Tree,
};

use crate::{Examination, Severity, describe, draw, examine, rules};

const NIC_PORT: &str = "0000:00:01.0";
const GPU_PORT: &str = "0000:00:02.0";
const EMPTY_PORT: &str = "0000:00:03.0";
const UPLINK: &str = "0000:00:04.0";
const NIC: &str = "0000:01:00.0";
const GPU: &str = "0000:02:00.0";
const SWITCH: &str = "0000:04:00.0";
const DOWN: [&str; 2] = ["0000:05:00.0", "0000:05:01.0"];
const DRIVE: &str = "0000:06:00.0";
const NICS: [&str; 2] = [NIC, "0000:01:00.1"];
const DRIVES: [&str; 2] = [DRIVE, "0000:07:00.0"];
const NIC_LINK: [&str; 3] = [NIC_PORT, NICS[0], NICS[1]];

fn words(names: &[&str]) -> Option<Vec<String>> {
    Some(names.iter().map(|name| (*name).to_owned()).collect())
}

fn function(slot: &str, kind: Kind, ids: (u32, u32), class_code: u32, gtps: f64, lanes: u32) -> Function {
    Function {
        slot: slot.to_owned(),
        title: format!("Device [{class_code:04x}]: {:04x}:{:04x}", ids.0, ids.1),
        vendor_id: Some(ids.0),
        device_id: Some(ids.1),
        class_code: Some(class_code),
        kind: Some(kind),
        driver: Some("driver".to_owned()),
        bus_master: Some(true),
        power_state: Some("D0".to_owned()),
        numa_node: Some(0),
        iommu_group: Some(1),
        iommu_type: Some("identity".to_owned()),
        has_slot: Some(false),
        link: Some(LinkEnd {
            max_speed_gtps: Some(gtps),
            max_lanes: Some(lanes),
            speed_gtps: Some(gtps),
            lanes: Some(lanes),
            target_speed_gtps: Some(gtps),
            rcb_bytes: Some(64),
            aspm_enabled: words(&[]),
            l1_exit_ns: Some(16_000.0),
            ..LinkEnd::default()
        }),
        control: Some(Control {
            max_payload_bytes: Some(512),
            mps_bytes: Some(512),
            mrrs_bytes: Some(4096),
            extended_tags_possible: Some(true),
            extended_tags: Some(true),
            ten_bit_completer: Some(true),
            ten_bit_requester: Some(false),
            ten_bit_tags: Some(false),
            relaxed_ordering: Some(true),
            ..Control::default()
        }),
        errors: Some(ErrorReporting::default()),
        ..Function::default()
    }
}

fn port(slot: &str, kind: Kind, buses: (u8, u8), gtps: f64, lanes: u32) -> Function {
    Function {
        secondary_bus: Some(buses.0),
        subordinate_bus: Some(buses.1),
        ..function(slot, kind, (0x8086, 0x352A), 0x0604, gtps, lanes)
    }
}

/// A healthy server: a NIC with two functions, a GPU, a switch with two drives, an empty port.
fn server() -> Vec<Function> {
    let nic = |slot| function(slot, Kind::Endpoint, (0x15B3, 0x1021), 0x0200, 32.0, 16);
    let mut gpu = function(GPU, Kind::Endpoint, (0x10DE, 0x2330), 0x0302, 32.0, 16);
    gpu.resizable_bars = vec![ResizableBar { bar: 1, size_bytes: 1 << 37, largest_bytes: 1 << 37 }];
    let mut empty = port(EMPTY_PORT, Kind::RootPort, (3, 3), 32.0, 16);
    end(&mut empty).lanes = Some(0);
    let drive = |slot| {
        let mut drive = function(slot, Kind::Endpoint, (0x144D, 0xA80A), 0x0108, 16.0, 4);
        control(&mut drive).mrrs_bytes = Some(512);
        drive
    };
    let mut uplink = port(UPLINK, Kind::RootPort, (4, 7), 32.0, 8);
    end(&mut uplink).speed_gtps = Some(16.0);
    vec![
        port(NIC_PORT, Kind::RootPort, (1, 1), 32.0, 16),
        nic(NICS[0]),
        nic(NICS[1]),
        port(GPU_PORT, Kind::RootPort, (2, 2), 32.0, 16),
        gpu,
        empty,
        uplink,
        port(SWITCH, Kind::UpstreamPort, (5, 7), 16.0, 8),
        port(DOWN[0], Kind::DownstreamPort, (6, 6), 16.0, 4),
        port(DOWN[1], Kind::DownstreamPort, (7, 7), 16.0, 4),
        drive(DRIVES[0]),
        drive(DRIVES[1]),
    ]
}

fn end(function: &mut Function) -> &mut LinkEnd {
    function.link.get_or_insert_default()
}

fn control(function: &mut Function) -> &mut Control {
    function.control.get_or_insert_default()
}

fn errors(function: &mut Function) -> &mut ErrorReporting {
    function.errors.get_or_insert_default()
}

/// The server with some functions changed.
fn changed(slots: &[&str], change: impl Fn(&mut Function)) -> Tree {
    Tree::new("server", with(server(), slots, change))
}

fn with(mut functions: Vec<Function>, slots: &[&str], change: impl Fn(&mut Function)) -> Vec<Function> {
    functions.iter_mut().filter(|one| slots.contains(&one.slot.as_str())).for_each(change);
    functions
}

fn of_host(host: Host) -> Tree {
    Tree::new("server", server()).with_host(host)
}

fn logged(kind: LogKind, text: &str) -> Tree {
    let mut tree = Tree::new("log", Vec::new());
    tree.log = vec![LogEvent { kind, slot: Some(NIC.to_owned()), text: text.to_owned(), line: 1, count: 1 }];
    tree
}

fn examined(tree: &Tree) -> Examination {
    examine(tree, Vec::new(), None).unwrap()
}

fn found(tree: &Tree) -> Vec<(String, Option<String>)> {
    let findings = examined(tree).findings;
    findings.into_iter().map(|finding| (finding.rule.into_owned(), finding.seen.device)).collect()
}

fn aspm(function: &mut Function) {
    end(function).aspm_enabled = words(&["L1"]);
}

type Case = (&'static str, Tree, &'static [(&'static str, Option<&'static str>)]);

fn link_cases() -> Vec<Case> {
    let loose = |one: &mut Function| {
        end(one).speed_gtps = Some(16.0);
        end(one).lanes = Some(8);
    };
    let mut lowered = with(server(), &NIC_LINK, |one| end(one).speed_gtps = Some(16.0));
    lowered = with(lowered, &[NIC_PORT], |one| end(one).target_speed_gtps = Some(16.0));
    let older_port = with(server(), &NIC_LINK, |one| {
        end(one).speed_gtps = Some(16.0);
        end(one).lanes = Some(8);
    });
    let older_port = with(older_port, &[NIC_PORT], |one| {
        end(one).max_speed_gtps = Some(16.0);
        end(one).max_lanes = Some(8);
    });
    let older_card = with(server(), &NIC_LINK, |one| end(one).speed_gtps = Some(16.0));
    let older_card = with(older_card, &NICS, |one| end(one).max_speed_gtps = Some(16.0));
    let narrow_uplink = changed(&[UPLINK, SWITCH], |one| {
        end(one).max_speed_gtps = Some(8.0);
        end(one).speed_gtps = Some(8.0);
        end(one).max_lanes = Some(2);
        end(one).lanes = Some(2);
    });
    let on_root_bus = server().into_iter().filter(|one| one.slot != NIC_PORT).collect();
    let on_card = with(server(), &[DOWN[0], DRIVE], |one| {
        *end(one) = LinkEnd {
            max_speed_gtps: Some(2.5),
            speed_gtps: Some(2.5),
            max_lanes: Some(1),
            lanes: Some(1),
            ..LinkEnd::default()
        };
    });
    let on_card = with(on_card, &[DRIVE], |one| {
        (one.vendor_id, one.device_id, one.class_code) = (Some(0x8086), Some(0x56A0), Some(0x0300));
    });
    let down = |one: &mut Function| {
        one.card_present = Some(true);
        end(one).active = Some(false);
    };
    let alone = |slot| server().into_iter().filter(|one| one.slot == slot).collect();
    vec![
        ("a loose riser", changed(&NIC_LINK, loose), &[("below-both-ends", Some(NIC))]),
        ("a lowered target", Tree::new("server", lowered), &[("target-speed-lowered", Some(NIC))]),
        ("an earlier port", Tree::new("server", older_port), &[("port-limits-card", Some(NIC))]),
        ("an earlier card", Tree::new("server", older_card), &[("card-limits-port", Some(NIC))]),
        (
            "a slow uplink",
            narrow_uplink,
            &[
                ("path-limits-card", Some(DRIVE)),
                ("path-limits-card", Some(DRIVES[1])),
                ("uplink-shared", Some(SWITCH)),
            ],
        ),
        ("a card on the root bus", Tree::new("server", on_root_bus), &[("made-up-link", Some(NIC))]),
        ("a display inside its card", Tree::new("server", on_card), &[("on-card-link", Some(DRIVE))]),
        ("a link that is down", changed(&[EMPTY_PORT], down), &[("link-down", Some(EMPTY_PORT))]),
        ("one port", Tree::new("one", alone(GPU_PORT)), &[("port-alone", Some(GPU_PORT))]),
        ("one device", Tree::new("one", alone(DRIVE)), &[("port-not-shown", Some(DRIVE))]),
        (
            "a chipset",
            changed(&[GPU_PORT], |one| one.title = "PCI bridge: Example Chipset Port".to_owned()),
            &[("chipset-slot", Some(GPU))],
        ),
    ]
}

fn payload_cases() -> Vec<Case> {
    let sends_more = |one: &mut Function| control(one).mps_bytes = Some(256);
    let supports_less = with(server(), &NIC_LINK, |one| control(one).mps_bytes = Some(128));
    let supports_less = with(supports_less, &[NIC_PORT], |one| control(one).max_payload_bytes = Some(128));
    let few_tags = |one: &mut Function| {
        control(one).extended_tags_possible = Some(false);
        control(one).extended_tags = Some(false);
    };
    let tags_off = |one: &mut Function| control(one).extended_tags = Some(false);
    let ten_bit = |one: &mut Function| control(one).ten_bit_requester = Some(true);
    let unanswered = with(server(), &[NIC_PORT], |one| control(one).ten_bit_completer = Some(false));
    let unanswered = with(unanswered, &NICS, |one| control(one).ten_bit_tags = Some(true));
    vec![
        (
            "128 of 512 B",
            changed(&NICS, |one| control(one).mps_bytes = Some(128)),
            &[("mps-below-path", Some(NIC))],
        ),
        ("a device that sends more", changed(&[NIC_PORT], sends_more), &[("mps-differs", Some(NIC))]),
        ("a port of 128 B", Tree::new("server", supports_less), &[("mps-limited", Some(NIC))]),
        (
            "more than it supports",
            changed(&[DRIVE], |one| control(one).max_payload_bytes = Some(256)),
            &[("mps-above-capability", Some(DRIVE))],
        ),
        (
            "a port that sends more",
            changed(&[DRIVE], |one| {
                control(one).max_payload_bytes = Some(256);
                control(one).mps_bytes = Some(256);
            }),
            &[("mps-above-device", Some(DRIVE))],
        ),
        ("ECRC", changed(&NICS, |one| errors(one).ecrc_generated = Some(true)), &[("ecrc-on", Some(NIC))]),
        (
            "reads of 512 B",
            changed(&NICS, |one| control(one).mrrs_bytes = Some(512)),
            &[("mrrs-small", Some(NIC))],
        ),
        ("few tags", changed(&[DRIVE], few_tags), &[("tags-limited", Some(DRIVE))]),
        ("8-bit tags off", changed(&NICS, tags_off), &[("extended-tags-off", Some(NIC))]),
        ("10-bit tags off", changed(&NICS, ten_bit), &[("ten-bit-tags-off", Some(NIC))]),
        (
            "10-bit tags unanswered",
            Tree::new("server", unanswered),
            &[("ten-bit-tags-unanswered", Some(NIC))],
        ),
        (
            "no time-out",
            changed(&[DRIVE], |one| control(one).completion_timeout_off = Some(true)),
            &[("completion-timeout-off", Some(DRIVE))],
        ),
        (
            "no bus mastering",
            changed(&[DRIVE], |one| one.bus_master = Some(false)),
            &[("bus-master-off", Some(DRIVE))],
        ),
        (
            "strict order",
            changed(&NICS, |one| control(one).relaxed_ordering = Some(false)),
            &[("relaxed-ordering-off", Some(NIC))],
        ),
        (
            "a Haswell port",
            changed(&[NIC_PORT], |one| one.device_id = Some(0x2F04)),
            &[("relaxed-ordering-harmful", Some(NIC))],
        ),
    ]
}

fn error_cases() -> Vec<Case> {
    let lanes = |one: &mut Function| {
        errors(one).correctable_status = words(&["RxErr", "BadTLP"]);
        end(one).lane_errors = Some(vec![0, 3]);
    };
    let receiver_errors = |one: &mut Function| {
        aspm(one);
        errors(one).correctable_status = words(&["RxErr"]);
    };
    let counted = |one: &mut Function| {
        let counts = [("RxErr", 0), ("BadTLP", 17), ("TOTAL_ERR_COR", 17)];
        errors(one).correctable = Some(counts.map(|(name, count)| (name.to_owned(), count)).into());
    };
    vec![
        ("lanes", changed(&NICS, lanes), &[("lanes-with-errors", Some(NIC))]),
        ("errors since boot", changed(&[NIC], counted), &[("errors-counted", Some(NIC))]),
        ("errors with ASPM", changed(&NIC_LINK, receiver_errors), &[("errors-with-aspm", Some(NIC))]),
        (
            "malformed TLPs",
            changed(&NICS, |one| errors(one).uncorrectable_status = words(&["MalfTLP"])),
            &[("uncorrectable-errors", Some(NIC))],
        ),
        (
            "an unsupported request",
            changed(&NICS, |one| errors(one).uncorrectable_status = words(&["UnsupReq"])),
            &[],
        ),
        (
            "containment",
            changed(&[EMPTY_PORT], |one| one.contained = Some("unmasked error".to_owned())),
            &[("containment-triggered", Some(EMPTY_PORT))],
        ),
        (
            "all ones",
            Tree::new(
                "server",
                with(server(), &[DRIVE], |one| {
                    *one = Function { slot: one.slot.clone(), answers: Some(false), ..Function::default() };
                }),
            ),
            &[("device-off-bus", Some(DRIVE))],
        ),
    ]
}

fn power_cases() -> Vec<Case> {
    let substates = |one: &mut Function| {
        aspm(one);
        end(one).l1_substates = words(&["ASPM L1.2"]);
    };
    let differ = with(server(), &NIC_LINK, substates);
    let differ = with(differ, &[NIC_PORT], |one| end(one).l1_substates = words(&[]));
    let no_reports = |one: &mut Function| {
        substates(one);
        control(one).ltr = Some(false);
    };
    vec![
        ("L1 on a NIC", changed(&NIC_LINK, aspm), &[("aspm-on", Some(NIC))]),
        ("L1 at one end", changed(&NICS, aspm), &[]),
        (
            "substates at one end",
            Tree::new("server", differ),
            &[("aspm-on", Some(NIC)), ("aspm-ends-differ", Some(NIC))],
        ),
        (
            "no LTR",
            changed(&NIC_LINK, no_reports),
            &[("aspm-on", Some(NIC)), ("substates-without-ltr", Some(NIC))],
        ),
        (
            "D3",
            changed(&[DRIVE], |one| one.power_state = Some("D3hot".to_owned())),
            &[("asleep", Some(DRIVE))],
        ),
        (
            "deep idle",
            of_host(Host {
                deepest_idle: Some("C6".to_owned()),
                deepest_idle_exit_us: Some(190.0),
                ..Host::default()
            }),
            &[("deep-idle", None)],
        ),
        (
            "a slow governor",
            of_host(Host { governor: Some("powersave".to_owned()), ..Host::default() }),
            &[("slow-governor", None)],
        ),
    ]
}

fn peer_cases() -> Vec<Case> {
    let redirect = |one: &mut Function| one.acs_enabled = words(&["SrcValid", "ReqRedir"]);
    let accelerators = with(server(), &[NIC_PORT, GPU_PORT], redirect);
    let accelerators = with(accelerators, &NICS, |one| one.class_code = Some(0x1200));
    let without_p2p = |one: &mut Function| {
        (one.vendor_id, one.device_id, one.class_code) = (Some(0x10DE), Some(0x2684), Some(0x0300));
        one.resizable_bars.clear();
    };
    let aspm_fault = |one: &mut Function| end(one).aspm_enabled = words(&["L0s"]);
    let faulty = with(server(), &NIC_LINK, aspm_fault);
    let faulty = with(faulty, &NICS, |one| (one.vendor_id, one.device_id) = (Some(0x8086), Some(0x10B6)));
    let mut matrix = Tree::new("matrix", Vec::new());
    matrix.peers =
        vec![Peer { kind: "sys".to_owned(), ends: ("GPU0".to_owned(), "GPU1".to_owned()), links: None }];
    let atomics = |one: &mut Function| control(one).atomics_completed = words(&["32bit", "64bit"]);
    let not_completed = with(server(), &[GPU], atomics);
    let not_completed = with(not_completed, &[GPU_PORT], |one| control(one).atomics_completed = words(&[]));
    vec![
        ("ACS between drives", changed(&DOWN, redirect), &[("acs-redirects", Some(SWITCH))]),
        ("ACS at root ports", Tree::new("server", accelerators), &[("acs-at-root-ports", Some(NIC))]),
        (
            "two displays without peers",
            changed(&[NICS[0], NICS[1], GPU], without_p2p),
            &[("no-peer-to-peer", Some(NIC))],
        ),
        ("a known fault", Tree::new("server", faulty), &[("aspm-on", Some(NIC)), ("known-fault", Some(NIC))]),
        ("atomics", Tree::new("server", not_completed), &[("atomics-not-routed", Some(GPU))]),
        ("a matrix", matrix, &[("peers-across-sockets", None)]),
        (
            "a small BAR",
            changed(&[GPU], |one| one.resizable_bars.iter_mut().for_each(|bar| bar.size_bytes = 1 << 28)),
            &[("bar-not-resized", Some(GPU))],
        ),
        ("CXL memory", changed(&[GPU], |one| one.class_code = Some(0x0502)), &[("cxl-memory", Some(GPU))]),
    ]
}

fn host_cases() -> Vec<Case> {
    let nodes = Host { nodes: Some(vec![0, 1]), memory_nodes: Some(vec![0, 1]), ..Host::default() };
    let on_nodes =
        |slots: &[&str], change: fn(&mut Function)| changed(slots, change).with_host(nodes.clone());
    let line = |key: &str, value: &str| Host {
        command_line: Some([(key.to_owned(), value.to_owned())].into()),
        ..Host::default()
    };
    let vfio = changed(&[DRIVE], |one| {
        one.driver = Some("vfio-pci".to_owned());
        one.iommu_group = None;
    });
    vec![
        ("no node", on_nodes(&[NIC], |one| one.numa_node = Some(-1)), &[("node-unknown", Some(NIC))]),
        (
            "a node without memory",
            changed(&[NIC], |one| one.numa_node = Some(1))
                .with_host(Host { memory_nodes: Some(vec![0]), ..Host::default() }),
            &[("node-without-memory", Some(NIC))],
        ),
        (
            "interrupts",
            on_nodes(&[NIC], |one| one.interrupt_nodes = Some(vec![1])),
            &[("interrupts-elsewhere", Some(NIC))],
        ),
        (
            "strict",
            changed(&[NIC], |one| one.iommu_type = Some("DMA".to_owned())),
            &[("iommu-strict", Some(NIC))],
        ),
        (
            "small pages",
            of_host(Host { iommu_pages: Some(IommuPages::FourKibPages), ..Host::default() }),
            &[("iommu-small-pages", None)],
        ),
        ("amd_iommu=pt", of_host(line("amd_iommu", "pt")), &[("passthrough-not-in-effect", None)]),
        (
            "VFIO without an IOMMU",
            vfio.with_host(Host { iommu_units: Some(0), ..Host::default() }),
            &[("vfio-without-iommu", Some(DRIVE))],
        ),
    ]
}

fn log_cases() -> Vec<Case> {
    let no_space = "pci 0000:01:00.0: BAR 0 [mem size 0x400000000 64bit pref]: can't assign; no space";
    vec![
        ("a lost device", logged(LogKind::OffBus, "lost"), &[("device-off-bus", Some(NIC))]),
        ("fatal errors", logged(LogKind::UncorrectedError, "AER"), &[("errors-in-log", Some(NIC))]),
        ("corrected errors", logged(LogKind::CorrectedError, "AER"), &[("corrected-in-log", Some(NIC))]),
        ("retraining", logged(LogKind::RetrainFailed, "broken"), &[("retraining-failed", Some(NIC))]),
        ("link down", logged(LogKind::LinkDown, "Link Down"), &[("link-went-down", Some(NIC))]),
        ("limited", logged(LogKind::BandwidthLimited, "limited by"), &[("limited-in-log", Some(NIC))]),
        ("stopped", logged(LogKind::DeviceStopped, "down"), &[("device-stopped", Some(NIC))]),
        ("address", logged(LogKind::AddressFault, "DMAR"), &[("address-faults", Some(NIC))]),
        ("no space", logged(LogKind::NoSpace, no_space), &[("bar-without-space", Some(NIC))]),
    ]
}

fn cases() -> Vec<Case> {
    [link_cases(), payload_cases(), error_cases(), power_cases(), peer_cases(), host_cases(), log_cases()]
        .concat()
}

#[test]
fn finds_exactly_the_fault() {
    for (name, tree, expected) in cases() {
        let found: BTreeSet<_> = found(&tree).into_iter().collect();
        let expected: BTreeSet<_> =
            expected.iter().map(|(rule, device)| ((*rule).to_owned(), device.map(str::to_owned))).collect();
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn a_healthy_machine_gives_no_finding() {
    assert_eq!(found(&Tree::new("server", server())), []);
}

#[test]
fn every_rule_has_a_machine_on_which_it_fires() {
    let fired: BTreeSet<&str> =
        cases().iter().flat_map(|(_, _, expected)| expected.iter().map(|(rule, _)| *rule)).collect();
    assert_eq!(fired, rules().map(|rule| rule.name).collect());
}

#[test]
fn a_loss_is_that_of_the_model() {
    let tree = changed(&NIC_LINK, |one| {
        end(one).speed_gtps = Some(16.0);
        end(one).lanes = Some(8);
    });
    let examination = examined(&tree);
    // 16 GT/s x8 instead of 32 GT/s x16: a quarter of the wire.
    let loss = &examination.findings[0].losses[0];
    assert!((loss.now_gbps / loss.could_gbps - 0.25).abs() < 0.01, "{loss:?}");
    assert!(examination.has_errors());
}

#[test]
fn the_worst_comes_first_unless_a_symptom_names_another() {
    let functions = with(server(), &NIC_LINK, |one| end(one).speed_gtps = Some(16.0));
    let functions = with(functions, &[DRIVE], |one| control(one).completion_timeout_off = Some(true));
    let tree = Tree::new("server", functions);
    let order = |symptom| {
        let findings = examine(&tree, Vec::new(), symptom).unwrap().findings;
        findings.into_iter().map(|finding| finding.rule).collect::<Vec<_>>()
    };
    assert_eq!(order(None), ["below-both-ends", "completion-timeout-off"]);
    assert_eq!(order(Some("hang")), ["completion-timeout-off", "below-both-ends"]);
}

#[test]
fn an_explained_sign_ranks_a_finding() {
    let mut tree = changed(&NIC_LINK, aspm);
    let text = "mlx5_core 0000:01:00.0: timed out".to_owned();
    tree.log =
        vec![LogEvent { kind: LogKind::DeviceStopped, slot: Some(NIC.to_owned()), text, line: 7, count: 1 }];
    let examination = examined(&tree);
    let finding = examination.findings.iter().find(|finding| finding.rule == "aspm-on").unwrap();
    assert_eq!(finding.severity, Severity::Warning);
    assert_eq!(finding.explained, ["log: mlx5_core 0000:01:00.0: timed out"]);
}

#[test]
fn two_readings_are_compared() {
    let slow = |source: &str, functions: Vec<Function>| Tree::new(source, functions);
    let mut tree = slow("text", server());
    let later = with(server(), &NIC_LINK, |one| end(one).speed_gtps = Some(8.0));
    tree.later = vec![slow("text, line 900", later)];
    let findings = examined(&tree).findings;
    let shown: Vec<_> = findings.iter().map(|finding| (&*finding.rule, finding.what.as_str())).collect();
    assert_eq!(shown[0].0, "below-both-ends");
    assert!(shown[0].1.ends_with("(in the reading line 900)"), "{shown:?}");
    let what = "two readings of this machine differ: LnkSta 32 GT/s x16, then 8 GT/s x16";
    assert!(shown[1..].iter().all(|finding| *finding == ("readings-differ", what)), "{shown:?}");
}

#[test]
fn texts_show_evidence_cost_and_fix() {
    let tree = changed(&NICS, |one| control(one).mps_bytes = Some(128));
    let examination = examined(&tree);
    let text = describe(&examination, &tree, 110, false);
    for part in [
        "server: 12 functions, 5 links, 1 warning\n",
        "\nwarnings\n\n01:00.0 Device [0200]: 15b3:1021\n",
        "  evidence: 00:01.0 DevCap MaxPayload 512 B, ",
        "  cost, by the model: writes of 4096 B: ",
        "  commands, in this order, risky (it may hang the machine; lost at the next reset):\n    sudo setpci -s ",
    ] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
    let drawn = draw(&tree, &examination);
    assert!(drawn.contains("\n  01:00.0 Device [0200]: 15b3:1021 | 32 GT/s x16 | reads "), "{drawn}");
    assert!(drawn.contains("00:03.0 Device [0604]: 8086:352a | empty\n"), "{drawn}");
}
