//! Mappings of a part of a BAR: uncached or write-combining, and who else maps the BAR.
//!
//! The kernel gives mappings that exist at the same time one memory type, so a process must not hold both.

use super::memory_type;
use crate::obstacle;
use crate::tree::{Function, Tree, names, text};
use crate::window::Window;
use pcie_refusal::Refusal;
use std::fs::OpenOptions;
use std::io;
use std::path::PathBuf;

/// A kind of mapping of a BAR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Uncached,
    WriteCombining,
}

impl Kind {
    /// End of the name of the kernel's file.
    fn suffix(self) -> &'static str {
        match self {
            Self::Uncached => "",
            Self::WriteCombining => "_wc",
        }
    }

    /// Whether a mapping of this kind may have a memory type. Uncached-minus is uncached unless an MTRR says
    /// otherwise.
    fn allows(self, memory_type: &str) -> bool {
        match self {
            Self::Uncached => matches!(memory_type, "uncached" | "uncached-minus"),
            Self::WriteCombining => memory_type == "write-combining",
        }
    }
}

/// Whole pages of a BAR.
#[derive(Clone, Debug)]
pub(super) struct Pages {
    pub(super) tree: Tree,
    pub(super) function: Function,
    /// Number of the BAR.
    pub(super) bar: u32,
    /// Offset in the BAR, and length, bytes.
    pub(super) first: u64,
    pub(super) bytes: u64,
}

/// The one mapping of a part of a BAR.
#[derive(Debug)]
pub(super) struct Mapped {
    pub(super) kind: Kind,
    pub(super) window: Window,
    /// Memory type that the kernel granted; none where it does not show it.
    pub(super) granted: Option<String>,
}

impl Mapped {
    /// The granted memory type, where it is known and not that of the kind.
    pub(super) fn downgraded(&self) -> Option<&str> {
        self.granted.as_deref().filter(|granted| !self.kind.allows(granted))
    }
}

impl Pages {
    /// The kernel's file for a kind of mapping.
    pub(super) fn path(&self, kind: Kind) -> PathBuf {
        self.function.folder.join(format!("resource{}{}", self.bar, kind.suffix()))
    }

    /// Maps the pages, and reads the granted memory type back.
    pub(super) fn map(&self, kind: Kind) -> Result<Mapped, Refusal> {
        let path = self.path(kind);
        let file = OpenOptions::new().read(true).write(true).open(&path);
        let window = file.and_then(|file| Window::map(&file, self.first, self.bytes as usize));
        let window = window.map_err(|error| self.refused(kind, &error))?;
        Ok(Mapped { kind, window, granted: self.granted() })
    }

    fn granted(&self) -> Option<String> {
        let bar = self.function.bars().into_iter().find(|bar| bar.number == self.bar)?;
        let start = bar.start.checked_add(self.first)?;
        let list = || text(&self.tree.path(memory_type::LIST));
        (0..memory_type::READS).find_map(|_| memory_type::granted(&list()?, &(start..start + self.bytes)))
    }

    /// Other processes that map the BAR, as `PID (name)`; those of other users are visible to root only.
    pub(super) fn other_mappers(&self) -> Vec<String> {
        let Ok(path) = self.path(Kind::Uncached).canonicalize() else { return Vec::new() };
        let is_mapped = |line: &str| {
            let mapped = line.find('/').map_or("", |at| &line[at..]);
            mapped.strip_suffix(Kind::WriteCombining.suffix()).unwrap_or(mapped) == path.to_string_lossy()
        };
        let processes = names(&self.tree.path("proc"));
        let others = processes
            .into_iter()
            .filter(|name| name.parse::<u32>().is_ok_and(|process| process != std::process::id()));
        let maps =
            |process: &String| text(&self.tree.path(&format!("proc/{process}/maps"))).unwrap_or_default();
        let named = |process: String| {
            let name = text(&self.tree.path(&format!("proc/{process}/comm"))).unwrap_or_default();
            format!("{process} ({name})")
        };
        others.filter(|process| maps(process).lines().any(is_mapped)).map(named).collect()
    }

    /// Who else maps the BAR, and the remedy.
    pub(super) fn end_other_mappers(&self) -> String {
        match self.other_mappers().as_slice() {
            [] => "end the process or driver that maps this BAR, for example the boot framebuffer".into(),
            processes => format!("end each process that maps this BAR: {}", processes.join(", ")),
        }
    }

    fn refused(&self, kind: Kind, error: &io::Error) -> Refusal {
        let path = self.path(kind);
        match error.kind() {
            io::ErrorKind::PermissionDenied => obstacle::no_stores(self.function.address, &path),
            // The kernel refuses an uncached mapping beside one that combines.
            io::ErrorKind::InvalidInput => {
                let problem = "the kernel refuses this memory type beside another mapping";
                obstacle::kernel(path.display().to_string(), problem).remedy(self.end_other_mappers())
            }
            _ => obstacle::kernel(path.display().to_string(), error),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::fs;

    /// A machine of files with the function 01:00.0: BAR 0 of 4 KiB, not prefetchable, and BAR 2 of 64 KiB.
    pub(in crate::pio) fn machine() -> (tempfile::TempDir, Tree, Function) {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join("sys/bus/pci/devices/0000:01:00.0");
        fs::create_dir_all(&folder).unwrap();
        let resource = "0xfe000000 0xfe000fff 0x40200\n0x0 0x0 0x0\n0xe0000000 0xe000ffff 0x14220c\n";
        for (name, content) in
            [("vendor", "0x1af4"), ("device", "0x1110"), ("class", "0x050000"), ("resource", resource)]
        {
            fs::write(folder.join(name), content).unwrap();
        }
        fs::write(folder.join("resource2"), [7; 65536]).unwrap();
        fs::hard_link(folder.join("resource2"), folder.join("resource2_wc")).unwrap();
        let tree = Tree::at(directory.path());
        let function = tree.function("01:00.0".parse().unwrap()).unwrap();
        (directory, tree, function)
    }

    /// Makes the kernel of a machine of files list a memory type for addresses.
    pub(in crate::pio) fn list_type(tree: &Tree, addresses: &str, memory_type: &str) {
        let path = tree.path(memory_type::LIST);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("PAT memtype list:\nPAT: [mem {addresses}] {memory_type}\n")).unwrap();
    }

    /// Names of the files of a function that this process maps.
    pub(in crate::pio) fn mapped(function: &Function) -> Vec<String> {
        let folder = format!("{}/", function.folder.canonicalize().unwrap().display());
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        maps.lines().filter_map(|line| Some(line.split_once(&folder)?.1.to_owned())).collect()
    }

    fn pages(tree: &Tree, function: &Function) -> Pages {
        Pages { tree: tree.clone(), function: function.clone(), bar: 2, first: 4096, bytes: 8192 }
    }

    #[test]
    fn granted_type_is_that_of_the_mapped_addresses() {
        let (_directory, tree, function) = machine();
        let pages = pages(&tree, &function);
        let granted = |kind| pages.map(kind).unwrap();
        assert_eq!(granted(Kind::WriteCombining).granted, None);
        list_type(&tree, "0xe0001000-0xe0003000", "write-combining");
        let combining = granted(Kind::WriteCombining);
        assert_eq!((combining.granted.as_deref(), combining.downgraded()), (Some("write-combining"), None));
        for memory_type in ["uncached-minus", "uncached"] {
            list_type(&tree, "0xe0001000-0xe0003000", memory_type);
            assert_eq!(granted(Kind::WriteCombining).downgraded(), Some(memory_type));
            assert_eq!(granted(Kind::Uncached).downgraded(), None);
        }
        list_type(&tree, "0xe0000000-0xe0003000", "uncached-minus");
        assert_eq!(granted(Kind::WriteCombining).granted, None);
    }

    #[test]
    fn other_mappers_of_the_bar_are_named() {
        let (_directory, tree, function) = machine();
        let pages = pages(&tree, &function);
        let folder = function.folder.canonicalize().unwrap();
        let own = std::process::id().to_string();
        for (process, name, file) in [
            ("101", "dpdk", "resource2_wc"),
            ("102", "lspci", "config"),
            ("103", "viewer", "resource2"),
            ("104", "other", "resource20"),
            (&own, "pcielab", "resource2"),
        ] {
            let process = tree.path(&format!("proc/{process}"));
            fs::create_dir_all(&process).unwrap();
            let line =
                format!("7f0000000000-7f0000010000 rw-s 00000000 00:17 99   {}/{file}", folder.display());
            fs::write(process.join("maps"), format!("5600000-5700000 r-xp 00000000 00:00 0\n{line}\n"))
                .unwrap();
            fs::write(process.join("comm"), format!("{name}\n")).unwrap();
        }
        assert_eq!(pages.other_mappers(), ["101 (dpdk)", "103 (viewer)"]);
        let refusal = pages.refused(Kind::Uncached, &io::ErrorKind::InvalidInput.into()).to_string();
        let named = "resource2: the kernel refuses this memory type beside another mapping: \
                     end each process that maps this BAR: 101 (dpdk), 103 (viewer)";
        assert!(refusal.ends_with(named), "{refusal}");
        fs::remove_dir_all(tree.path("proc")).unwrap();
        assert!(pages.end_other_mappers().contains("end the process or driver that maps this BAR"));
    }
}
