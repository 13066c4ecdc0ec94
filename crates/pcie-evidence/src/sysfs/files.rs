//! What the kernel's files of a function show to every user.

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use indexmap::IndexMap;

use super::folder::Folder;
use crate::pattern::{Pattern, compiled, first_group};
use crate::tree::{ErrorReporting, Function, LANES, LinkEnd, SPEEDS};

const COUNTERS_MOST: usize = 64;
/// Interrupts of the machine whose nodes are looked up.
const INTERRUPTS_MOST: usize = 1 << 16;
const POWER_STATES: [&str; 5] = ["D0", "D1", "D2", "D3hot", "D3cold"];

static HEX: Pattern = Pattern::new(|| compiled("^0x([0-9a-f]{1,8})$"));
static DECIMAL: Pattern = Pattern::new(|| compiled("^(-?[0-9]{1,9})$"));
static SPEED: Pattern = Pattern::new(|| compiled(r"^([0-9.]{1,5}) GT/s"));
static COUNTER: Pattern = Pattern::new(|| compiled(r"(?m)^([A-Za-z0-9_]{1,40}) ([0-9]{1,18})$"));
static FIRST_NUMBER: Pattern = Pattern::new(|| compiled("^([0-9]{1,5})"));

/// Reads the files of functions.
pub(super) struct KernelFiles<'a> {
    pub(super) folder: &'a Folder,
    /// The NUMA node of each processor.
    nodes: &'a HashMap<i64, i64>,
    interrupts_left: Cell<usize>,
}

impl<'a> KernelFiles<'a> {
    pub(super) fn new(folder: &'a Folder, nodes: &'a HashMap<i64, i64>) -> Self {
        Self { folder, nodes, interrupts_left: Cell::new(INTERRUPTS_MOST) }
    }

    /// The function of a folder, without slot and title.
    pub(super) fn function(&self, path: &Path) -> Function {
        let text = |name: &str| self.folder.text(&path.join(name));
        let group = self.folder.inside(&path.join("iommu_group"));
        let group_name = group.as_ref().and_then(|group| group.file_name()?.to_str());
        Function {
            vendor_id: text("vendor").and_then(|text| hex(&text)),
            device_id: text("device").and_then(|text| hex(&text)),
            class_code: text("class").and_then(|text| hex(&text)).map(|code| code >> 8),
            is_virtual_function: path.join("physfn").is_symlink(),
            driver: path
                .join("driver")
                .read_link()
                .ok()
                .and_then(|link| Some(link.file_name()?.to_str()?.to_owned())),
            power_state: text("power_state").filter(|state| POWER_STATES.contains(&state.as_str())),
            numa_node: text("numa_node").and_then(|text| decimal(&text)),
            interrupt_nodes: self.interrupt_nodes(path),
            iommu_group: group_name.and_then(decimal),
            iommu_type: group.as_ref().and_then(|group| self.folder.text(&group.join("type"))),
            link: self.link(path),
            errors: self.errors(path),
            ..Function::default()
        }
    }

    fn link(&self, path: &Path) -> Option<LinkEnd> {
        let text = |name: &str| self.folder.text(&path.join(name));
        let (speed, lanes) = (|name| speed(&text(name)?), |name| lanes(&text(name)?));
        let end = LinkEnd {
            max_speed_gtps: speed("max_link_speed"),
            max_lanes: lanes("max_link_width"),
            speed_gtps: speed("current_link_speed"),
            lanes: lanes("current_link_width"),
            ..LinkEnd::default()
        };
        if end == LinkEnd::default() {
            return None;
        }
        let states = [("L0s", text("link/l0s_aspm")), ("L1", text("link/l1_aspm"))];
        let is_shown = states.iter().any(|(_, state)| state.as_ref().is_some_and(|state| !state.is_empty()));
        let on = states.iter().filter(|(_, state)| state.as_deref() == Some("1"));
        let aspm_enabled = is_shown.then(|| on.map(|(name, _)| (*name).to_owned()).collect());
        Some(LinkEnd { aspm_enabled, ..end })
    }

    fn errors(&self, path: &Path) -> Option<ErrorReporting> {
        let counted = |name: &str| self.folder.text(&path.join(name)).map(|text| counters(&text));
        let (correctable, fatal) = (counted("aer_dev_correctable"), counted("aer_dev_fatal"));
        let is_shown = correctable.is_some() || fatal.is_some();
        is_shown.then(|| ErrorReporting { correctable, fatal, ..ErrorReporting::default() })
    }

    /// The nodes that serve its interrupts; None if /proc was not read.
    fn interrupt_nodes(&self, path: &Path) -> Option<Vec<i64>> {
        let mut found = BTreeSet::new();
        for number in self.folder.names(&path.join("msi_irqs")) {
            if !number.bytes().all(|digit| digit.is_ascii_digit()) || self.interrupts_left.get() == 0 {
                continue;
            }
            self.interrupts_left.set(self.interrupts_left.get() - 1);
            let served = self.folder.root().join("proc/irq").join(number).join("effective_affinity_list");
            let served = self.folder.text(&served);
            let first = served.as_ref().and_then(|served| first_group(&FIRST_NUMBER, served)?.parse().ok());
            found.extend(first.and_then(|processor: i64| self.nodes.get(&processor)).copied());
        }
        (!found.is_empty()).then(|| found.into_iter().collect())
    }
}

fn hex(text: &str) -> Option<u32> {
    u32::from_str_radix(first_group(&HEX, text)?, 16).ok()
}

fn decimal(text: &str) -> Option<i64> {
    first_group(&DECIMAL, text)?.parse().ok()
}

fn speed(text: &str) -> Option<f64> {
    let shown = first_group(&SPEED, text)?;
    SPEEDS.into_iter().find(|speed| speed.to_string() == shown || format!("{speed:.1}") == shown)
}

fn lanes(text: &str) -> Option<u32> {
    let lanes = u32::try_from(decimal(text)?).ok()?;
    (lanes == 0 || LANES.contains(&lanes)).then_some(lanes)
}

fn counters(text: &str) -> IndexMap<String, u64> {
    let found = COUNTER.captures_iter(text).take(COUNTERS_MOST);
    found.filter_map(|counter| Some((counter[1].to_owned(), counter[2].parse().ok()?))).collect()
}
