//! Settings of the machine as a whole, from the kernel: nodes, IOMMU, power, hypervisor.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use indexmap::IndexMap;

use super::folder::Folder;
use crate::letters::trim;
use crate::pattern::{Pattern, compiled, first_group};
use crate::tree::{Host, IommuPages};

const HYPERVISORS: [&str; 8] =
    ["QEMU", "KVM", "VMware", "VirtualBox", "Virtual Machine", "Firecracker", "Amazon EC2", "Google"];
const PROCESSORS_MOST: usize = 1 << 13;
const NODES_MOST: usize = 1 << 10;
const CPUINFO_BYTES: usize = 1 << 16;

static PARAMETER: Pattern = Pattern::new(|| {
    let of_iommus = r"iommu(?:\.\w+)?|intel_iommu|amd_iommu|arm-smmu[\w.-]*";
    let of_power = r"intel_idle\.\w+|processor\.max_cstate|idle|mitigations";
    compiled(&format!(r"(?:^|\s)((?:{of_iommus}|pci|pcie_aspm(?:\.\w+)?|pcie_ports|{of_power}))(?:=(\S*))?"))
});
static NODE: Pattern = Pattern::new(|| compiled("^node([0-9]{1,4})$"));
static PACKAGE: Pattern = Pattern::new(|| compiled("^([0-9]{1,5})$"));
static RANGE: Pattern = Pattern::new(|| compiled("^([0-9]{1,5})(?:-([0-9]{1,5}))?$"));
static CHOSEN: Pattern = Pattern::new(|| compiled(r"\[(\w+)\]"));
static LATENCY: Pattern = Pattern::new(|| compiled("^([0-9]{1,9})$"));
static VIRTUAL: Pattern = Pattern::new(|| compiled(r"(?m)^flags\s*:.*\bhypervisor\b"));

/// The settings of the machine; `sys` is the path of `/sys` in the folder.
pub(super) fn read_host(folder: &Folder, sys: &Path) -> Host {
    let (nodes, cpu) = (sys.join("devices/system/node"), sys.join("devices/system/cpu/cpu0"));
    let command_line = folder.text(&folder.root().join("proc/cmdline")).map(|text| parameters(&text));
    let iommus = sys.join("class/iommu");
    let units = iommus.is_dir().then(|| folder.names(&iommus).len());
    let listed = |name: &str| folder.text(&nodes.join(name)).map(|text| listed(&text));
    let (deepest_idle, deepest_idle_exit_us) = deepest_idle(folder, &cpu.join("cpuidle"));
    Host {
        nodes: listed("has_cpu"),
        memory_nodes: listed("has_memory"),
        node_sockets: Some(sockets(folder, sys)).filter(|sockets| !sockets.is_empty()),
        iommu_pages: units.filter(|units| *units > 0).and_then(|_| pages(command_line.as_ref())),
        command_line,
        iommu_units: units.and_then(|units| u32::try_from(units).ok()),
        aspm_policy: folder
            .text(&sys.join("module/pcie_aspm/parameters/policy"))
            .and_then(|text| first_group(&CHOSEN, &text).map(str::to_owned)),
        governor: folder.text(&cpu.join("cpufreq/scaling_governor")),
        deepest_idle,
        deepest_idle_exit_us,
        hypervisor: hypervisor(folder, sys),
    }
}

/// The NUMA node of each processor.
pub(super) fn nodes_of(folder: &Folder, sys: &Path) -> HashMap<i64, i64> {
    let nodes = sys.join("devices/system/node");
    let mut found = HashMap::new();
    let names = folder.names(&nodes).into_iter().filter(|name| NODE.is_match(name));
    for name in names.take(NODES_MOST) {
        let Some(node) = first_group(&NODE, &name).and_then(|digits| digits.parse().ok()) else { continue };
        let processors = folder.text(&nodes.join(&name).join("cpulist")).map(|text| listed(&text));
        found.extend(processors.unwrap_or_default().into_iter().map(|processor| (processor, node)));
    }
    found
}

/// The socket of each NUMA node, from its first processor.
fn sockets(folder: &Folder, sys: &Path) -> IndexMap<i64, i64> {
    let processors: BTreeMap<i64, i64> = nodes_of(folder, sys).into_iter().collect();
    let mut found = IndexMap::new();
    for (processor, node) in processors {
        if found.contains_key(&node) {
            continue;
        }
        let path = sys.join(format!("devices/system/cpu/cpu{processor}/topology/physical_package_id"));
        let package = folder.text(&path);
        if let Some(socket) = package.and_then(|text| first_group(&PACKAGE, &text)?.parse().ok()) {
            found.insert(node, socket);
        }
    }
    found
}

/// The kernel's parameters about PCI, IOMMU and power; others may be private.
fn parameters(text: &str) -> IndexMap<String, String> {
    let found = PARAMETER.captures_iter(text);
    found.map(|one| (one[1].to_owned(), one.get(2).map_or("", |value| value.as_str()).to_owned())).collect()
}

fn pages(command_line: Option<&IndexMap<String, String>>) -> Option<IommuPages> {
    let options = command_line?.get("intel_iommu")?;
    options.split(',').any(|option| option == "sp_off").then_some(IommuPages::FourKibPages)
}

/// Numbers of a list in the kernel's notation, in ascending order: `0-3,8`.
fn listed(text: &str) -> Vec<i64> {
    let mut found: Vec<i64> = Vec::new();
    for part in text.split(',') {
        let Some(ends) = RANGE.captures(trim(part)) else { continue };
        let Ok(first) = ends[1].parse::<i64>() else { continue };
        let last = ends.get(2).and_then(|last| last.as_str().parse().ok()).unwrap_or(first);
        // Kernel ranges ascend; skip one that does not.
        if found.last().is_none_or(|before| first > *before) {
            found.extend(first..=last);
        }
    }
    found.truncate(PROCESSORS_MOST);
    found
}

/// The idle state that takes longest to leave, and its time.
fn deepest_idle(folder: &Folder, states: &Path) -> (Option<String>, Option<f64>) {
    let mut deepest: (Option<String>, Option<f64>) = (None, None);
    for name in folder.names(states) {
        let text = |file: &str| folder.text(&states.join(&name).join(file));
        let latency = text("latency").and_then(|text| first_group(&LATENCY, &text)?.parse::<f64>().ok());
        let Some(latency) = latency.filter(|_| text("disable").as_deref() != Some("1")) else { continue };
        if deepest.1.is_none_or(|known| latency > known) {
            deepest = (text("name"), Some(latency));
        }
    }
    deepest
}

fn hypervisor(folder: &Folder, sys: &Path) -> Option<String> {
    if let Some(kind) = folder.text(&sys.join("hypervisor/type")).filter(|kind| !kind.is_empty()) {
        return Some(kind);
    }
    for name in ["product_name", "sys_vendor"] {
        let shown = folder.text(&sys.join("class/dmi/id").join(name)).unwrap_or_default().to_lowercase();
        if let Some(known) = HYPERVISORS.into_iter().find(|known| shown.contains(&known.to_lowercase())) {
            return Some(known.to_owned());
        }
    }
    let cpuinfo = folder.long_text(&folder.root().join("proc/cpuinfo"), CPUINFO_BYTES)?;
    VIRTUAL.is_match(&cpuinfo).then(|| "hypervisor".to_owned())
}
