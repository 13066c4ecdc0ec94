//! A disk that somebody has for himself, without any other trace of it.

use super::address;
use pcie_vfio::{Purpose, Tree, bind};
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;

#[test]
#[ignore = "runs in the guest of make vm-test"]
fn a_disk_that_something_has_claimed_is_not_taken_away() {
    let (drive, disk) = (address("DRIVE"), std::env::var("DISK").unwrap());
    let path = format!("/dev/{disk}");
    let claimed = OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(path).unwrap();
    let told = bind(&Tree::here(), drive, Purpose::Vfio, None).unwrap_err().to_string();
    assert_eq!(
        told,
        format!("{drive}: is in use: something has claimed {disk}; `lsblk /dev/{disk}` shows what")
    );
    println!("{told}");
    drop(claimed);
}
