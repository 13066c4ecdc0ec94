//! Other ways to a drive whose blocks would be written: further controllers of it on this machine, and SR-IOV
//! functions, which virtual machines may have. Binding one of them leaves the others in use.

use crate::survey::is_gone;
use crate::tree::{Function, Tree};
use std::fs;
use std::path::Path;

/// A message on another path to the drive with this serial number, if any; also if that cannot be read.
pub(super) fn other(tree: &Tree, function: &Function, serial: &str) -> Option<String> {
    let controllers = tree.path("sys/class/nvme");
    virtual_functions(function).or_else(|| match fs::read_dir(&controllers) {
        Ok(entries) => entries.into_iter().find_map(|entry| match entry {
            Ok(entry) => same_drive(&entry.path(), serial),
            Err(error) => Some(unread(&controllers, &error)),
        }),
        // Without the class, the kernel's driver has no drive.
        Err(error) if is_gone(&error) => None,
        Err(error) => Some(unread(&controllers, &error)),
    })
}

/// A message if a controller of the kernel's driver has this serial number.
fn same_drive(controller: &Path, serial: &str) -> Option<String> {
    let file = controller.join("serial");
    let name = controller.file_name().unwrap_or_default().to_string_lossy();
    match fs::read(&file) {
        Ok(own) if String::from_utf8_lossy(&own).trim() == serial.trim() => Some(format!(
            "{name} is another path to this drive (serial number {}), through which this machine may use its blocks",
            serial.trim()
        )),
        Ok(_) => None,
        Err(error) if is_gone(&error) => None,
        Err(error) => Some(unread(&file, &error)),
    }
}

fn virtual_functions(function: &Function) -> Option<String> {
    let listed = match fs::read_dir(&function.folder) {
        Ok(entries) => entries,
        Err(error) => return Some(unread(&function.folder, &error)),
    };
    let mut names = listed.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let shared = names.find(|name| name == "physfn" || name.starts_with("virtfn"))?;
    Some(format!("the drive has several functions ({shared}), and the others may use its blocks"))
}

fn unread(path: &Path, error: &std::io::Error) -> String {
    format!("{} cannot be read ({error}), and could show another use of the drive", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A machine with a drive on vfio-pci and another controller.
    fn machine() -> (tempfile::TempDir, Tree, Function) {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join("sys/bus/pci/devices/0000:02:00.0");
        fs::create_dir_all(&folder).unwrap();
        for (name, content) in [("vendor", "0x144d"), ("device", "0xa808"), ("class", "0x010802")] {
            fs::write(folder.join(name), content).unwrap();
        }
        let other = directory.path().join("sys/class/nvme/nvme1");
        fs::create_dir_all(&other).unwrap();
        fs::write(other.join("serial"), "S4EV-1            \n").unwrap();
        let tree = Tree::at(directory.path());
        let function = tree.function("0000:02:00.0".parse().unwrap()).unwrap();
        (directory, tree, function)
    }

    #[test]
    fn second_controller_of_a_drive_is_found_by_its_serial_number() {
        let (_directory, tree, function) = machine();
        assert_eq!(other(&tree, &function, "S4EV-2"), None);
        let found = other(&tree, &function, "S4EV-1").unwrap();
        assert!(found.starts_with("nvme1 is another path to this drive (serial number S4EV-1)"), "{found}");
    }

    #[test]
    fn unreadable_controller_counts_as_another_path() {
        let (directory, tree, function) = machine();
        let serial = directory.path().join("sys/class/nvme/nvme1/serial");
        fs::remove_file(&serial).unwrap();
        assert_eq!(other(&tree, &function, "S4EV-1"), None, "it has gone");
        // A folder cannot be read as a file, not even by root.
        fs::create_dir(&serial).unwrap();
        assert!(other(&tree, &function, "S4EV-1").unwrap().contains("cannot be read"));
    }

    #[test]
    fn virtual_and_physical_functions_share_a_drive() {
        for link in ["physfn", "virtfn0"] {
            let (directory, tree, function) = machine();
            symlink(directory.path(), function.folder.join(link)).unwrap();
            assert!(other(&tree, &function, "S4EV-2").unwrap().contains(link));
        }
    }
}
