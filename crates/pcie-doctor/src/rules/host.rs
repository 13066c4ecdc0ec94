//! Rules about the host: nodes, interrupts, address translation.

use pcie_evidence::{Function, IommuPages};

use crate::finding::{Observation, Severity, Sureness, Symptom, Value};
use crate::machine::Machine;
use crate::rule::Rule;
use crate::rules::link::{on_edge, rate_gbps};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "node-unknown",
        cause: "D25",
        section: "the-host",
        explains: &[Symptom::Latency, Symptom::LostRate],
        confirm: None,
        about: "With several nodes, software pins buffers and threads to the node that the firmware gives \
             (_PXM).",
        see: node_unknown,
    },
    Rule {
        name: "node-without-memory",
        cause: "D24",
        section: "the-host",
        explains: &[Symptom::Latency, Symptom::LostRate],
        confirm: None,
        about: "A device whose node has no memory has every buffer on another node.",
        see: node_without_memory,
    },
    Rule {
        name: "interrupts-elsewhere",
        cause: "D24",
        section: "the-host",
        explains: &[Symptom::Latency, Symptom::LostRate],
        confirm: None,
        about: "Handlers of interrupts on another node access the device and its rings across sockets.",
        see: interrupts_elsewhere,
    },
    Rule {
        name: "iommu-strict",
        cause: "D19",
        section: "the-host",
        explains: &[Symptom::LostRate],
        confirm: None,
        about: "With strict invalidation each unmapping of a buffer waits for the IOMMU; lazy mode batches \
             invalidations. The type of the IOMMU group shows the mode: `DMA` is strict, `DMA-FQ` is lazy.",
        see: iommu_strict,
    },
    Rule {
        name: "iommu-small-pages",
        cause: "D22",
        section: "the-host",
        explains: &[Symptom::LostRate],
        confirm: None,
        about: "With 4 KiB pages, an IOMMU needs 512 times as many IO-TLB entries as with 2 MiB pages.",
        see: iommu_small_pages,
    },
    Rule {
        name: "passthrough-not-in-effect",
        cause: "D21",
        section: "the-host",
        explains: &[Symptom::LostRate],
        confirm: None,
        about: "`iommu=pt` asks for passthrough; the kernel ignores the unknown `amd_iommu=pt` with a warning.",
        see: passthrough_not_in_effect,
    },
    Rule {
        name: "vfio-without-iommu",
        cause: "vfio",
        section: "the-host",
        explains: &[],
        confirm: None,
        about: "VFIO protects memory through the IOMMU (Linux, Documentation/driver-api/vfio.rst): it needs one.",
        see: vfio_without_iommu,
    },
];

const MENTIONED_FROM_GBPS: f64 = 16.0;
const VFIO: &str = "vfio-pci";

fn node_unknown(machine: &Machine<'_>) -> Vec<Observation> {
    let count = machine.tree.host().nodes.as_ref().map_or(0, Vec::len);
    if count < 2 {
        return Vec::new();
    }
    fast(machine)
        .filter(|function| function.numa_node == Some(-1))
        .map(|function| {
            let what = format!("the firmware does not say to which of the {count} NUMA nodes the device is attached");
            Observation::new(Severity::Warning, Sureness::Certain, what)
                .on(function)
                .values([Value::of(function, "numa_node", -1)])
                .values(on_edge(machine, function))
                .remedy(
                    "find the node by latency and pin threads and buffers to it; echo N > numa_node sets it until \
                     the next boot; a BIOS update may add _PXM",
                )
        })
        .collect()
}

fn node_without_memory(machine: &Machine<'_>) -> Vec<Observation> {
    let Some(memory) = machine.tree.host().memory_nodes.as_ref().filter(|nodes| !nodes.is_empty()) else {
        return Vec::new();
    };
    fast(machine)
        .filter_map(|function| Some((function, function.numa_node.filter(|node| *node >= 0)?)))
        .filter(|(_, node)| !memory.contains(node))
        .map(|(function, node)| {
            let what = format!("NUMA node {node} of the device has no memory: every buffer is remote");
            Observation::new(Severity::Warning, Sureness::Certain, what)
                .on(function)
                .values([
                    Value::of(function, "numa_node", node),
                    Value::of_machine("has_memory", listed(memory)),
                ])
                .values(on_edge(machine, function))
                .remedy("add memory modules to that socket, or move the device to another socket's slot")
        })
        .collect()
}

fn interrupts_elsewhere(machine: &Machine<'_>) -> Vec<Observation> {
    fast(machine)
        .filter_map(|function| {
            let served = function.interrupt_nodes.as_ref().filter(|nodes| !nodes.is_empty())?;
            let node = function.numa_node.filter(|node| *node >= 0 && !served.contains(node))?;
            let what =
                format!("the device is on node {node}, but its interrupts run on node {}", listed(served));
            Some(
                Observation::new(Severity::Warning, Sureness::Certain, what)
                    .on(function)
                    .values([
                        Value::of(function, "numa_node", node),
                        Value::of(function, "interrupts on node", listed(served)),
                    ])
                    .values(on_edge(machine, function))
                    .remedy(
                        "set /proc/irq/N/smp_affinity_list to processors of its node, and stop irqbalance from \
                         undoing it",
                    ),
            )
        })
        .collect()
}

fn iommu_strict(machine: &Machine<'_>) -> Vec<Observation> {
    let is_strict = |function: &&Function| {
        function.iommu_type.as_deref() == Some("DMA")
            && !matches!(function.driver.as_deref(), None | Some(VFIO))
    };
    fast(machine)
        .filter(is_strict)
        .map(|function| {
            let what = "the IOMMU translates its addresses with strict invalidation";
            Observation::new(Severity::Warning, Sureness::Likely, what)
                .on(function)
                .values([Value::of(function, "iommu_group/type", "DMA")])
                .remedy(
                    "if you trust the device, boot with iommu.strict=0 (lazy) or iommu.passthrough=1; a driver \
                     that maps its buffers once loses nothing",
                )
        })
        .collect()
}

fn iommu_small_pages(machine: &Machine<'_>) -> Vec<Observation> {
    if machine.tree.host().iommu_pages != Some(IommuPages::FourKibPages) {
        return Vec::new();
    }
    let what = "the IOMMU maps 4 KiB pages only: a window of a few hundred KiB exceeds the IO-TLB";
    vec![
        Observation::new(Severity::Warning, Sureness::Certain, what)
            .values([Value::of_machine("IOMMU pages", "4 KiB")])
            .remedy("remove sp_off from intel_iommu= on the kernel's command line, or use passthrough"),
    ]
}

fn passthrough_not_in_effect(machine: &Machine<'_>) -> Vec<Observation> {
    let line = machine.tree.host().command_line.as_ref();
    let given = |key: &str| line.and_then(|line| line.get(key)).map(String::as_str);
    let mut found = Vec::new();
    if given("amd_iommu") == Some("pt") && given("iommu") != Some("pt") {
        let what = "the kernel ignores amd_iommu=pt on its command line: passthrough is off";
        found.push(
            Observation::new(Severity::Warning, Sureness::Certain, what)
                .values([Value::of_machine("command line", "amd_iommu=pt")])
                .remedy("boot with iommu=pt or iommu.passthrough=1"),
        );
    }
    let is_asked =
        given("iommu") == Some("pt") || matches!(given("iommu.passthrough"), Some("1" | "on" | "y"));
    if !is_asked {
        return found;
    }
    for function in fast(machine) {
        let Some(kind @ ("DMA" | "DMA-FQ")) = function.iommu_type.as_deref() else { continue };
        if function.driver.as_deref() == Some(VFIO) {
            continue;
        }
        let what = "the command line asks for passthrough, but the IOMMU translates the device's addresses";
        found.push(
            Observation::new(Severity::Warning, Sureness::Certain, what)
                .on(function)
                .values([Value::of(function, "iommu_group/type", kind)])
                .remedy(
                    "search the kernel's log for `Default domain type`; the kernel always translates untrusted \
                     devices",
                ),
        );
    }
    found
}

fn vfio_without_iommu(machine: &Machine<'_>) -> Vec<Observation> {
    if machine.tree.host().iommu_units != Some(0) {
        return Vec::new();
    }
    let is_unprotected =
        |function: &&Function| function.driver.as_deref() == Some(VFIO) && function.iommu_group.is_none();
    let functions = machine.functions().iter().filter(is_unprotected);
    functions
        .map(|function| {
            let what = "the device is bound to vfio-pci without an IOMMU: VFIO refuses it or protects nothing";
            Observation::new(Severity::Warning, Sureness::Certain, what)
                .on(function)
                .values([Value::of(function, "driver", VFIO), Value::of_machine("/sys/class/iommu", "empty")])
                .remedy(
                    "switch on VT-d, AMD-Vi or the SMMU in the BIOS (on Intel, also boot with intel_iommu=on)",
                )
        })
        .collect()
}

/// One function of each device whose link is fast enough for the host to matter.
fn fast<'tree>(machine: &Machine<'tree>) -> impl Iterator<Item = &'tree Function> {
    machine
        .real_cards()
        .map(|(link, _)| link.device)
        .filter(|device| rate_gbps(device.link.as_ref()) >= MENTIONED_FROM_GBPS)
}

fn listed(nodes: &[i64]) -> String {
    let nodes: Vec<String> = nodes.iter().map(i64::to_string).collect();
    nodes.join(", ")
}
