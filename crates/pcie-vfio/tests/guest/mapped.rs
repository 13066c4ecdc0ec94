//! A disk under a device of the device mapper, which the kernel's own requests make: `dmsetup` needs libraries.

use super::address;
use pcie_vfio::{Purpose, Tree, bind};
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;

/// Bytes of `struct dm_ioctl`, and of the part after it that holds a target.
const HEAD: usize = 312;
const WHOLE: usize = 1024;
/// Requests of `linux/dm-ioctl.h`, `_IOWR(0xfd, number, struct dm_ioctl)`.
const CREATE: u32 = 3;
const REMOVE: u32 = 4;
const RESUME: u32 = 6;
const LOAD: u32 = 9;
const NAME: &str = "kept";

/// Carries out a request on the device `kept`; a target is a number of sectors and its words.
fn request(control: &File, number: u32, target: Option<(u64, &str)>) {
    let mut data = vec![0_u8; WHOLE];
    let mut put = |at: usize, bytes: &[u8]| data[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &4_u32.to_ne_bytes());
    put(12, &(WHOLE as u32).to_ne_bytes());
    put(16, &(HEAD as u32).to_ne_bytes());
    put(48, NAME.as_bytes());
    if let Some((sectors, words)) = target {
        put(20, &1_u32.to_ne_bytes());
        put(HEAD + 8, &sectors.to_ne_bytes());
        put(HEAD + 24, b"linear");
        put(HEAD + 40, words.as_bytes());
    }
    let code = 3 << 30 | (HEAD as u64) << 16 | 0xfd << 8 | u64::from(number);
    // SAFETY: the kernel reads and writes no more than the bytes that the head gives, which are there.
    let done = unsafe { libc::ioctl(control.as_raw_fd(), code as _, data.as_mut_ptr()) };
    assert_eq!(done, 0, "request {number}: {}", std::io::Error::last_os_error());
}

#[test]
#[ignore = "runs in the guest of make vm-test"]
fn mapped_disk_is_in_use() {
    let (drive, disk) = (address("DRIVE"), std::env::var("DISK").unwrap());
    let control = OpenOptions::new().read(true).write(true).open("/dev/mapper/control").unwrap();
    request(&control, CREATE, None);
    request(&control, LOAD, Some((2048, &format!("/dev/{disk} 0"))));
    request(&control, RESUME, None);
    let error = bind(&Tree::here(), drive, Purpose::Vfio, None).unwrap_err().to_string();
    request(&control, REMOVE, None);
    let expected = format!("{drive}: is in use: {disk} is part of dm-0; `sudo dmsetup remove /dev/dm-0`");
    assert_eq!(error, expected);
    println!("{error}");
}
