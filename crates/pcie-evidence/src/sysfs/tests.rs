//! Copies of /sys made file by file.

use std::fs;
use std::os::unix::fs::symlink;

use super::*;

const DEVICE: &str = "sys/devices/pci0000:00/0000:01:00.0";

/// A copy of a machine with one NIC, of which 64 bytes can be read.
fn machine() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let mut config = vec![0; 64];
    config[..4].copy_from_slice(&[0xb3, 0x15, 0x21, 0x10]);
    config[0x0b] = 0x02;
    put(root.path(), &format!("{DEVICE}/config"), &config);
    for (name, text) in [
        ("vendor", "0x15b3\n"),
        ("device", "0x1021\n"),
        ("class", "0x020000\n"),
        ("numa_node", "1\n"),
        ("max_link_speed", "32.0 GT/s PCIe\n"),
        ("max_link_width", "16\n"),
        ("current_link_speed", "2.5 GT/s PCIe\n"),
        ("current_link_width", "8\n"),
        ("link/l1_aspm", "1\n"),
        ("aer_dev_correctable", "RxErr 3\nBadTLP 0\n"),
    ] {
        put(root.path(), &format!("{DEVICE}/{name}"), text.as_bytes());
    }
    let devices = root.path().join("sys/bus/pci/devices");
    fs::create_dir_all(&devices).unwrap();
    symlink("../../../devices/pci0000:00/0000:01:00.0", devices.join("0000:01:00.0")).unwrap();
    symlink("../../../bus/pci/drivers/mlx5_core", root.path().join(DEVICE).join("driver")).unwrap();
    root
}

fn put(root: &Path, path: &str, content: &[u8]) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

#[test]
fn the_files_of_the_kernel_are_read_without_root() {
    let root = machine();
    let tree = read_sysfs(Some(root.path())).unwrap();
    let [nic] = tree.functions() else { panic!("{tree:?}") };
    assert_eq!((&*nic.slot, &*nic.title), ("0000:01:00.0", "Ethernet controller: device [15b3:1021]"));
    assert_eq!((nic.driver.as_deref(), nic.numa_node), (Some("mlx5_core"), Some(1)));
    let link = nic.link.as_ref().unwrap();
    assert_eq!((link.max_speed_gtps, link.speed_gtps, link.lanes), (Some(32.0), Some(2.5), Some(8)));
    assert_eq!(link.aspm_enabled, Some(vec!["L1".to_owned()]));
    assert_eq!(nic.errors.as_ref().unwrap().correctable.as_ref().unwrap()["RxErr"], 3);
    assert!(tree.unseen[0].starts_with("the capabilities of 1 of 1 functions"), "{:?}", tree.unseen);
}

#[test]
fn a_sleeping_function_is_not_read() {
    let root = machine();
    put(root.path(), &format!("{DEVICE}/power_state"), b"D3cold\n");
    let tree = read_sysfs(Some(root.path())).unwrap();
    assert!(tree.functions()[0].bus_master.is_none());
    assert!(tree.unseen[0].starts_with("0000:01:00.0: asleep in D3cold"), "{:?}", tree.unseen);
}

#[test]
fn a_function_that_reads_as_ones_does_not_answer() {
    let root = machine();
    put(root.path(), &format!("{DEVICE}/config"), &[0xff; 64]);
    let tree = read_sysfs(Some(root.path())).unwrap();
    assert_eq!(tree.functions()[0].answers, Some(false));
}

#[test]
fn links_out_of_the_folder_are_not_followed() {
    let (root, other) = (machine(), machine());
    let group = root.path().join(DEVICE).join("iommu_group");
    symlink(other.path(), group).unwrap();
    let tree = read_sysfs(Some(root.path())).unwrap();
    assert_eq!(tree.functions()[0].iommu_group, None);
    assert!(tree.unseen.iter().any(|note| note.contains("leads out of the folder")), "{:?}", tree.unseen);
}

#[test]
fn the_host_is_read() {
    let root = machine();
    for (path, text) in [
        ("sys/devices/system/node/has_cpu", "0-1\n"),
        ("sys/devices/system/node/node0/cpulist", "0-3,8\n"),
        ("sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n"),
        ("sys/class/iommu/dmar0/version", "5:0\n"),
        ("sys/module/pcie_aspm/parameters/policy", "[default] performance\n"),
        ("proc/cmdline", "root=/dev/sda iommu=pt intel_iommu=on,sp_off secret=1\n"),
        ("proc/cpuinfo", "flags : fpu hypervisor\n"),
    ] {
        put(root.path(), path, text.as_bytes());
    }
    let tree = read_sysfs(Some(root.path())).unwrap();
    let host = tree.host();
    assert_eq!(host.nodes, Some(vec![0, 1]));
    assert_eq!(host.node_sockets.as_ref().unwrap()[&0], 0);
    assert_eq!((host.iommu_units, host.iommu_pages), (Some(1), Some(crate::IommuPages::FourKibPages)));
    assert_eq!(
        (host.aspm_policy.as_deref(), host.hypervisor.as_deref()),
        (Some("default"), Some("hypervisor"))
    );
    let names: Vec<_> = host.command_line.as_ref().unwrap().keys().collect();
    assert_eq!(names, ["iommu", "intel_iommu"]);
}

#[test]
fn folders_without_functions_are_refused() {
    let empty = tempfile::tempdir().unwrap();
    let refusal = read_sysfs(Some(empty.path())).unwrap_err().to_string();
    assert!(refusal.contains("has no bus/pci/devices, so it is not a copy of /sys"), "{refusal}");
    fs::create_dir_all(empty.path().join("bus/pci/devices/0000:01:00.0x")).unwrap();
    let refusal = read_sysfs(Some(empty.path())).unwrap_err().to_string();
    assert!(refusal.contains("leads to a folder inside it: copy with links"), "{refusal}");
    let refusal = read_sysfs(Some(&empty.path().join("none"))).unwrap_err().to_string();
    assert!(
        refusal.ends_with("not a folder: give a copy of /sys, or a folder that has it as sys/"),
        "{refusal}"
    );
}
