//! This crate's system calls.

use crate::error::HostError;
use std::io;

pub(crate) fn allowed_processors() -> Vec<u32> {
    // SAFETY: `cpu_set_t` is an array of integers, for which all zeros is a value.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes no more than the size given into the set, which lives until the call returns.
    let failed = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) };
    if failed != 0 {
        return Vec::new();
    }
    let most = 8 * size_of::<libc::cpu_set_t>();
    // SAFETY: every number is below the number of bits of the set.
    (0..most).filter(|&processor| unsafe { libc::CPU_ISSET(processor, &set) }).map(|one| one as u32).collect()
}

pub(crate) fn pin(processor: u32) -> Result<(), HostError> {
    let allowed = allowed_processors();
    let unknown = || HostError::UnknownCore { asked: processor, allowed: numbers(&allowed) };
    if !allowed.contains(&processor) {
        return Err(unknown());
    }
    // SAFETY: `cpu_set_t` is an array of integers, for which all zeros is a value.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel listed the processor, so it is within the set.
    unsafe { libc::CPU_SET(processor as usize, &mut set) };
    // SAFETY: the kernel reads no more than the size given from the set, which lives until the call returns.
    let failed = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) };
    if failed == 0 { Ok(()) } else { Err(unknown()) }
}

/// Times that the kernel took the core from this thread while it could run; none where it does not count them.
pub(crate) fn involuntary_switches() -> Option<u64> {
    // SAFETY: `rusage` consists of integers, for which all zeros is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one `rusage`, which lives until the call returns.
    let failed = unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    (failed == 0).then(|| u64::try_from(usage.ru_nivcsw).unwrap_or(0))
}

/// A list of numbers, for messages.
pub(crate) fn numbers(numbers: &[u32]) -> String {
    let texts: Vec<String> = numbers.iter().map(u32::to_string).collect();
    if texts.is_empty() { "none".to_owned() } else { texts.join(", ") }
}

pub(crate) fn refused(request: &str) -> HostError {
    HostError::Refused { request: request.to_owned(), reason: io::Error::last_os_error().to_string() }
}

/// The limit on locked memory of this process, bytes; none where it is unlimited.
#[must_use]
pub fn locked_memory_limit() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes one `rlimit`, which lives until the call returns.
    let failed = unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &raw mut limit) };
    (failed == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}
