//! A disk claimed exclusively, with no other trace of its use.

use super::address;
use pcie_vfio::{Purpose, Tree, bind};
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;

#[test]
#[ignore = "runs in the guest of make vm-test"]
fn claimed_disk_is_in_use() {
    let (drive, disk) = (address("DRIVE"), std::env::var("DISK").unwrap());
    let path = format!("/dev/{disk}");
    let claimed = OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(path).unwrap();
    let error = bind(&Tree::here(), drive, Purpose::Vfio, None).unwrap_err().to_string();
    let expected =
        format!("{drive}: is in use: something has claimed {disk}; `lsblk /dev/{disk}` shows more");
    assert_eq!(error, expected);
    println!("{error}");
    drop(claimed);
}
