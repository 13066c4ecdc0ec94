//! Mapped files that another process may cut short.
//!
//! An access beyond the end of such a file raises SIGBUS, which would end this process without a message. A handler puts
//! zeros under the mapping instead and marks it as cut, so that the brick can end with a message. Other faults go
//! to the handler that was there before.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::io::{Error, Result};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const MOST: usize = 256;
static WATCHED: [Watched; MOST] = [const { Watched::new() }; MOST];
static FORMER: OnceLock<libc::sigaction> = OnceLock::new();
const FREE: usize = 0;
const CLAIMED: usize = 1;

/// A mapping that the handler knows.
#[derive(Debug)]
pub(super) struct Watched {
    start: AtomicUsize,
    /// 0 while the mapping is not watched.
    bytes: AtomicUsize,
    is_cut: AtomicBool,
}

impl Watched {
    const fn new() -> Self {
        Self { start: AtomicUsize::new(FREE), bytes: AtomicUsize::new(0), is_cut: AtomicBool::new(false) }
    }

    /// Whether the file no longer reaches to the end of the mapping.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut.load(Ordering::Acquire)
    }

    /// Stops watching; the mapping must not be used any more.
    pub(super) fn release(&self) {
        self.bytes.store(0, Ordering::Release);
        self.start.store(FREE, Ordering::Release);
    }

    /// Puts zeros under the mapping if the address lies within; false if not, or if the kernel refuses.
    fn replace(&self, address: usize) -> bool {
        let bytes = self.bytes.load(Ordering::Acquire);
        let start = self.start.load(Ordering::Acquire);
        if !(start..start + bytes).contains(&address) {
            return false;
        }
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_FIXED | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: the range is a mapping of this process that is only used through atomic words, whatever they hold.
        let mapped = unsafe { libc::mmap(start as *mut c_void, bytes, access, flags, -1, 0) };
        self.is_cut.store(true, Ordering::Release);
        mapped as usize == start
    }
}

/// Watches a mapping until it is released.
///
/// # Errors
/// Too many are watched, or the handler cannot be installed.
pub(super) fn watch(start: usize, bytes: usize) -> Result<&'static Watched> {
    install()?;
    let free = |watched: &&Watched| {
        watched.start.compare_exchange(FREE, CLAIMED, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    };
    let problem = || Error::other(format!("more than {MOST} peers share files that they may cut short"));
    let watched = WATCHED.iter().find(free).ok_or_else(problem)?;
    watched.is_cut.store(false, Ordering::Release);
    watched.start.store(start, Ordering::Release);
    watched.bytes.store(bytes, Ordering::Release);
    Ok(watched)
}

fn install() -> Result<()> {
    if FORMER.get().is_some() {
        return Ok(());
    }
    // SAFETY: all fields of the structure may be zero: no flags, an empty mask, the default action.
    let (mut action, mut former): (libc::sigaction, libc::sigaction) = unsafe { std::mem::zeroed() };
    // SAFETY: the former action is written to a structure of this function.
    if unsafe { libc::sigaction(libc::SIGBUS, std::ptr::null(), &raw mut former) } != 0 {
        return Err(Error::last_os_error());
    }
    // Before the handler, which reads it.
    if FORMER.set(former).is_err() {
        return Ok(());
    }
    action.sa_sigaction = on_fault as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: the handler calls functions only that are safe in handlers: `mmap` and `sigaction`.
    match unsafe { libc::sigaction(libc::SIGBUS, &raw const action, null_mut()) } {
        0 => Ok(()),
        _ => Err(Error::last_os_error()),
    }
}

extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, _context: *mut c_void) {
    // SAFETY: the kernel gives a handler with SA_SIGINFO a structure that has the address of a fault.
    let address = unsafe { (*info).si_addr() } as usize;
    if WATCHED.iter().any(|watched| watched.replace(address)) {
        return;
    }
    if let Some(former) = FORMER.get() {
        // SAFETY: it is the action that the process had. The access is repeated, and goes to it.
        unsafe { libc::sigaction(signal, former, null_mut()) };
    }
}
