//! What hangs below a PCI function, by the kernel's classes of devices: an interface of a virtio function, a disk on a USB
//! controller, a keyboard. Whatever lies between the two, the kernel's folder of one is within that of the other.

use crate::tree::{Function, Tree, names};
use std::path::PathBuf;

/// What a device is used for, and what ends that.
pub(crate) type Use = (String, String);

impl Tree {
    /// Folders of the devices of a class, such as `net`, that are below a function.
    pub(crate) fn below(&self, function: &Function, class: &str) -> Vec<PathBuf> {
        let folder = function.folder.canonicalize().unwrap_or_else(|_| function.folder.clone());
        let all = self.path(&format!("sys/class/{class}"));
        let is_below = |entry: &PathBuf| {
            let leads = |path: PathBuf| path.canonicalize().is_ok_and(|path| path.starts_with(&folder));
            leads(entry.clone()) || leads(entry.join("device"))
        };
        let mut found: Vec<PathBuf> =
            names(&all).into_iter().map(|name| all.join(name)).filter(is_below).collect();
        // Where the kernel lists no classes, what is right below it is there all the same.
        let own = function.folder.join(class);
        for name in names(&own) {
            if !found.iter().any(|entry| entry.ends_with(&name)) {
                found.push(own.join(name));
            }
        }
        found
    }

    /// Names of the devices of a class that are below a function.
    pub(crate) fn names_below(&self, function: &Function, class: &str) -> Vec<String> {
        self.below(function, class).iter().filter_map(|entry| name_of(entry)).collect()
    }
}

/// The name of a folder.
pub(crate) fn name_of(folder: &std::path::Path) -> Option<String> {
    folder.file_name()?.to_str().map(str::to_owned)
}
