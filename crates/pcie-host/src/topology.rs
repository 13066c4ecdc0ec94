//! Processors, caches, nodes and pages, as far as the kernel reports them in `/sys` and `/proc`.

use crate::root::Root;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A machine as its kernel reports it.
#[derive(Clone, Debug)]
pub struct Topology {
    root: Root,
}

/// A cache of a processor.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cache {
    /// Level, from 1.
    pub level: u32,
    /// `data`, `instruction` or `unified`.
    pub holds: String,
    /// Size, bytes.
    pub bytes: u64,
    /// Processors that share it, in the kernel's list format (`0-3,8`).
    pub shared_by: String,
}

impl From<Root> for Topology {
    fn from(root: Root) -> Self {
        Self { root }
    }
}

impl Topology {
    /// This machine.
    #[must_use]
    pub fn here() -> Self {
        Root::here().into()
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.path(path)
    }

    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let text = std::fs::read_to_string(self.root.path(path)).ok()?;
        Some(text.trim().to_owned())
    }

    fn number(&self, path: &str) -> Option<u64> {
        self.text(path)?.parse().ok()
    }

    /// The caches of a processor, by level.
    #[must_use]
    pub fn caches(&self, processor: u32) -> Vec<Cache> {
        let directory = format!("sys/devices/system/cpu/cpu{processor}/cache");
        let entries = std::fs::read_dir(self.root.path(&directory)).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let cache = |name: String| {
            let key = |key: &str| self.text(&format!("{directory}/{name}/{key}"));
            Some(Cache {
                level: key("level")?.parse().ok()?,
                holds: key("type")?.to_lowercase(),
                bytes: bytes(&key("size")?)?,
                shared_by: key("shared_cpu_list")?,
            })
        };
        let mut caches: Vec<Cache> =
            names.filter(|name| name.starts_with("index")).filter_map(cache).collect();
        caches.sort();
        caches
    }

    /// The last-level cache of a processor; a socket may have several.
    #[must_use]
    pub fn last_level_cache(&self, processor: u32) -> Option<Cache> {
        self.caches(processor).into_iter().rfind(|cache| cache.holds != "instruction")
    }

    /// The socket of a processor.
    #[must_use]
    pub fn socket(&self, processor: u32) -> Option<u32> {
        let path = format!("sys/devices/system/cpu/cpu{processor}/topology/physical_package_id");
        u32::try_from(self.number(&path)?).ok()
    }

    /// The processors that are online.
    #[must_use]
    pub fn processors(&self) -> Vec<u32> {
        list(&self.text("sys/devices/system/cpu/online").unwrap_or_default())
    }

    /// Number of sockets with processors; none where the kernel does not report it.
    #[must_use]
    pub fn sockets(&self) -> Option<u32> {
        let sockets: BTreeSet<u32> =
            self.processors().into_iter().filter_map(|one| self.socket(one)).collect();
        u32::try_from(sockets.len()).ok().filter(|count| *count > 0)
    }

    /// The NUMA nodes that have memory.
    #[must_use]
    pub fn nodes(&self) -> Vec<u32> {
        list(&self.text("sys/devices/system/node/has_memory").unwrap_or_default())
    }

    /// The socket that a node's processors are on.
    #[must_use]
    pub fn socket_of_node(&self, node: u32) -> Option<u32> {
        self.socket(*self.processors_of_node(node).first()?)
    }

    /// The kernel's directory of huge pages of a size, of one node or of the machine.
    #[must_use]
    pub fn huge_pages(&self, page_bytes: u64, node: Option<u32>) -> PathBuf {
        let name = format!("hugepages-{}kB", page_bytes >> 10);
        let directory = match node {
            Some(node) => format!("sys/devices/system/node/node{node}/hugepages"),
            None => "sys/kernel/mm/hugepages".to_owned(),
        };
        self.root.path(directory).join(name)
    }

    /// Free huge pages; none where the kernel has no pages of that size.
    #[must_use]
    pub fn free_huge_pages(&self, page_bytes: u64, node: Option<u32>) -> Option<u64> {
        let directory = self.huge_pages(page_bytes, node);
        let number = |name: &str| number_in(&directory.join(name));
        // The kernel counts reserved pages as free.
        Some(number("free_hugepages")?.saturating_sub(number("resv_hugepages").unwrap_or(0)))
    }

    /// Available memory, bytes: the machine's, or the rest of the container's limit if that is less.
    #[must_use]
    pub fn available_memory_bytes(&self) -> Option<u64> {
        let info = self.text("proc/meminfo")?;
        let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        let machine = line.trim().trim_end_matches(" kB").parse::<u64>().ok()? << 10;
        let limit = self.number("sys/fs/cgroup/memory.max");
        let used = self.number("sys/fs/cgroup/memory.current").unwrap_or(0);
        Some(limit.map_or(machine, |limit| machine.min(limit.saturating_sub(used))))
    }

    /// Model of the processor.
    #[must_use]
    pub fn processor_name(&self) -> Option<String> {
        self.processor_value("model name")
    }

    /// Flags of the processor.
    #[must_use]
    pub fn processor_flags(&self) -> BTreeSet<String> {
        let flags = self.processor_value("flags").unwrap_or_default();
        flags.split_whitespace().map(str::to_owned).collect()
    }

    pub(crate) fn processor_value(&self, key: &str) -> Option<String> {
        let text = self.text("proc/cpuinfo")?;
        let line = text.lines().find(|line| line.split(':').next().is_some_and(|name| name.trim() == key))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    }

    /// Name and release of the kernel.
    #[must_use]
    pub fn kernel(&self) -> Option<String> {
        let (name, release) = (self.text("proc/sys/kernel/ostype")?, self.text("proc/sys/kernel/osrelease")?);
        Some(format!("{name} {release}"))
    }

    /// The kernel's command line.
    #[must_use]
    pub fn command_line(&self) -> Option<String> {
        self.text("proc/cmdline")
    }

    /// Load: runnable processes, averaged over a minute.
    #[must_use]
    pub fn load(&self) -> Option<f64> {
        self.text("proc/loadavg")?.split(' ').next()?.parse().ok()
    }

    /// Current clock of a processor, MHz.
    #[must_use]
    pub fn clock_mhz(&self, processor: u32) -> Option<f64> {
        let path = format!("sys/devices/system/cpu/cpu{processor}/cpufreq/scaling_cur_freq");
        Some(self.number(&path)? as f64 / 1e3)
    }

    /// The governor of a processor's clock; none where the kernel does not set the clock, as in most guests.
    #[must_use]
    pub fn governor(&self, processor: u32) -> Option<String> {
        self.text(&format!("sys/devices/system/cpu/cpu{processor}/cpufreq/scaling_governor"))
    }

    /// Whether processors may exceed their nominal clock; none where the kernel does not report it.
    #[must_use]
    pub fn turbo(&self) -> Option<bool> {
        let off = self.number("sys/devices/system/cpu/intel_pstate/no_turbo").map(|off| off == 0);
        off.or_else(|| self.number("sys/devices/system/cpu/cpufreq/boost").map(|on| on != 0))
    }

    /// The processors of a node; empty where the kernel does not report them.
    #[must_use]
    pub fn processors_of_node(&self, node: u32) -> Vec<u32> {
        list(&self.text(&format!("sys/devices/system/node/node{node}/cpulist")).unwrap_or_default())
    }

    /// Temperature of the package, degrees Celsius.
    #[must_use]
    pub fn temperature_c(&self) -> Option<f64> {
        let zones = std::fs::read_dir(self.root.path("sys/class/thermal")).ok()?.flatten();
        let package = zones.map(|zone| zone.path()).find(|zone| {
            std::fs::read_to_string(zone.join("type")).is_ok_and(|name| name.trim() == "x86_pkg_temp")
        })?;
        Some(number_in(&package.join("temp"))? as f64 / 1e3)
    }
}

fn number_in(path: &Path) -> Option<u64> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// A size as the kernel writes it, `32768K`.
fn bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

/// A list as the kernel writes it, `0-3,8`.
pub(crate) fn list(text: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
    };
    text.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::fs;

    /// A made-up machine whose files have this content.
    pub(crate) fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Topology) {
        let directory = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let topology = Topology::from(Root::at(directory.path()));
        (directory, topology)
    }

    #[test]
    fn reads_caches_sockets_nodes_and_pages() {
        let cache = "sys/devices/system/cpu/cpu9/cache/index3";
        let (_directory, topology) = machine(&[
            (&format!("{cache}/level"), "3\n"),
            (&format!("{cache}/type"), "Unified\n"),
            (&format!("{cache}/size"), "32M\n"),
            (&format!("{cache}/shared_cpu_list"), "8-15\n"),
            ("sys/devices/system/cpu/online", "0-1,9\n"),
            ("sys/devices/system/cpu/cpu9/topology/physical_package_id", "1\n"),
            ("sys/devices/system/node/has_memory", "0-1\n"),
            ("sys/devices/system/node/node1/cpulist", "9-15\n"),
            ("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "10\n"),
            ("sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages", "4\n"),
            ("proc/cpuinfo", "processor : 0\nmodel name\t: A Processor\nflags\t\t: tsc clflush\n"),
        ]);
        let last = topology.last_level_cache(9).unwrap();
        assert_eq!((last.bytes, last.shared_by.as_str()), (32 << 20, "8-15"));
        assert_eq!(topology.processors(), [0, 1, 9]);
        assert_eq!((topology.socket_of_node(1), topology.sockets()), (Some(1), Some(1)));
        assert_eq!(topology.nodes(), [0, 1]);
        assert_eq!(topology.free_huge_pages(2 << 20, None), Some(6));
        assert_eq!(topology.free_huge_pages(1 << 30, None), None);
        assert_eq!(topology.processor_name().as_deref(), Some("A Processor"));
        assert!(topology.processor_flags().contains("clflush"));
    }

    #[test]
    fn reads_governor_and_turbo_of_either_driver() {
        let governor = ("sys/devices/system/cpu/cpu2/cpufreq/scaling_governor", "powersave\n");
        for (file, content, turbo) in [
            ("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n", Some(false)),
            ("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n", Some(true)),
            ("sys/devices/system/cpu/cpufreq/boost", "1\n", Some(true)),
            ("sys/devices/system/cpu/cpufreq/boost", "0\n", Some(false)),
            ("sys/devices/system/cpu/cpufreq/boost", "unknown\n", None),
        ] {
            let (_directory, topology) = machine(&[governor, (file, content)]);
            assert_eq!(topology.turbo(), turbo, "{file} {content}");
            assert_eq!((topology.governor(2).as_deref(), topology.governor(0)), (Some("powersave"), None));
        }
    }

    #[test]
    fn missing_files_give_none() {
        let (_directory, topology) = machine(&[]);
        assert_eq!((topology.governor(0), topology.turbo()), (None, None));
        assert!(topology.processors_of_node(0).is_empty());
        assert_eq!((topology.sockets(), topology.last_level_cache(0)), (None, None));
        assert_eq!((topology.kernel(), topology.load(), topology.temperature_c()), (None, None, None));
        assert!(topology.nodes().is_empty());
    }
}
