//! The C library: an endpoint behind a pointer. `include/pcielab.h` is made from this file.
//!
//! No function panics or unwinds: wrong arguments are refused with a code and a text, as far as a pointer can be
//! checked, and a defect of the library becomes a code, too (`guard`). There is no global state; ports are independent of each other.
#![allow(unsafe_code)]

mod code;
mod guard;
mod layout;
mod machine;
mod machine_layout;
mod made;

pub use code::{Code, pcielab_code_text};
pub use layout::{
    PcielabEvent, PcielabEventKind, PcielabKind, PcielabLimits, PcielabOccupancy, PcielabOutcome,
    PcielabSent, PcielabTlp,
};
pub use machine::*;
pub use machine_layout::{
    PcielabDiscipline, PcielabMachineEvent, PcielabMachineEventKind, PcielabMachineLimits,
    PcielabMachineOptions, PcielabMachineRoom,
};
pub use made::{PcielabCache, PcielabOptions};

use crate::endpoint::Endpoint;
use crate::header::parse_header;
use code::{fail, reported};
use guard::guarded;
use pcie_time::Picoseconds;
use std::ffi::{c_char, c_int};
use std::ptr::null_mut;

/// Version of this interface: major times 1000 plus minor. Within a major version functions, structures and
/// codes are only added.
pub const PCIELAB_VERSION: u32 = 1002;

/// A host with its link to one device. Use it from one thread at a time; different ports may be used at once.
pub struct PcielabPort {
    endpoint: Endpoint,
    /// A panic has left it half changed.
    is_broken: bool,
}

/// The version of the library: compare its thousands with PCIELAB_VERSION.
#[unsafe(no_mangle)]
pub extern "C" fn pcielab_version() -> u32 {
    PCIELAB_VERSION
}

/// Makes a host with nothing in flight, at time 0.
///
/// `system` is the JSON of `pcielab profiles show NAME --resolved`, `system_bytes` its length without a final
/// zero. `options` may be null: seed 1, cold caches. Both are only read during the call. On success `*port` is
/// the host, which the caller gives to pcielab_port_free; otherwise it is null, and `text`, unless null, holds
/// what is wrong in up to `text_bytes` bytes with a final zero.
///
/// # Safety
/// `system` has `system_bytes` bytes, `text` has room for `text_bytes`, and the other pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcielab_port_create(
    system: *const c_char,
    system_bytes: usize,
    options: *const PcielabOptions,
    port: *mut *mut PcielabPort,
    text: *mut c_char,
    text_bytes: usize,
) -> c_int {
    if system.is_null() || port.is_null() {
        // SAFETY: the caller gives `text` room for `text_bytes`.
        return unsafe { reported(Code::Null, "system or port is null", text, text_bytes) };
    }
    // SAFETY: the caller gives `system_bytes` bytes at `system`, and a null or valid `options`.
    let (json, options) =
        unsafe { (std::slice::from_raw_parts(system.cast(), system_bytes), options.as_ref()) };
    let made = match guarded(|| made::endpoint(json, options)) {
        Some(made) => made.map_err(|wrong| (Code::System, wrong)),
        None => Err((Code::Internal, "internal error, a defect of the library".to_owned())),
    };
    let (made, code) = match made {
        Ok(endpoint) => {
            (Box::into_raw(Box::new(PcielabPort { endpoint, is_broken: false })), Code::Done as c_int)
        }
        // SAFETY: as above.
        Err((code, wrong)) => (null_mut(), unsafe { reported(code, &wrong, text, text_bytes) }),
    };
    // SAFETY: the caller gives a valid `port`.
    unsafe { port.write(made) };
    code
}

/// Frees a host; null does nothing.
///
/// # Safety
/// `port` is null or from pcielab_port_create, and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcielab_port_free(port: *mut PcielabPort) {
    if !port.is_null() {
        // SAFETY: it is from `Box::into_raw`, and the caller gives it up.
        let port = unsafe { Box::from_raw(port) };
        let _ = guarded(|| drop(port));
    }
}

/// Reads the limits of the link and the size of the host buffer.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcielab_port_limits(port: *const PcielabPort, limits: *mut PcielabLimits) -> c_int {
    // SAFETY: the caller gives null or valid pointers.
    let (port, limits) = unsafe { (port.as_ref(), limits.as_mut()) };
    let (Some(port), Some(limits)) = (port, limits) else { return Code::Null as c_int };
    let Some(found) = port.look(|endpoint| PcielabLimits::of(endpoint.port())) else {
        return Code::Internal as c_int;
    };
    *limits = found;
    Code::Done as c_int
}

/// Finds the bus address of an offset in the host buffer. Pieces of the buffer are not contiguous for a device,
/// but pages of 4096 bytes are.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcielab_port_address(
    port: *const PcielabPort,
    offset: u64,
    address: *mut u64,
) -> c_int {
    // SAFETY: the caller gives null or valid pointers.
    let (port, address) = unsafe { (port.as_ref(), address.as_mut()) };
    let (Some(port), Some(address)) = (port, address) else { return Code::Null as c_int };
    match port.look(|endpoint| endpoint.port().buffer().address(offset)) {
        Some(Some(found)) => {
            *address = found;
            Code::Done as c_int
        }
        Some(None) => Code::Outside as c_int,
        None => Code::Internal as c_int,
    }
}

/// Reads the header of a TLP as it is on the link: 12 or 16 bytes, followed by its data where it has them. Only
/// memory reads and writes and messages without data are taken.
///
/// # Safety
/// `bytes` has `length` bytes; pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcielab_tlp_parse(bytes: *const u8, length: usize, tlp: *mut PcielabTlp) -> c_int {
    if bytes.is_null() || tlp.is_null() {
        return Code::Null as c_int;
    }
    // SAFETY: the caller gives `length` bytes at `bytes`, and a valid `tlp`.
    let (bytes, tlp) = unsafe { (std::slice::from_raw_parts(bytes, length), &mut *tlp) };
    match guarded(|| parse_header(bytes)) {
        Some(Ok(parsed)) => {
            *tlp = PcielabTlp::from(parsed);
            Code::Done as c_int
        }
        Some(Err(error)) => Code::from(error) as c_int,
        None => Code::Internal as c_int,
    }
}

/// Whether a tag and credits are free for a TLP: 1, or 0 if the device has to wait for an event first.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcielab_port_has_room(port: *const PcielabPort, tlp: *const PcielabTlp) -> c_int {
    // SAFETY: the caller gives null or valid pointers.
    let (port, tlp) = unsafe { (port.as_ref(), tlp.as_ref()) };
    let (Some(port), Some(Ok(tlp))) = (port, tlp.map(PcielabTlp::checked)) else { return 0 };
    port.look(|endpoint| endpoint.has_room(&tlp)).unwrap_or(false).into()
}

/// Sends a TLP that is complete in the device at `ready_ps`. TLPs leave in the order of calls. `sent`, unless
/// null, tells what becomes of it. A TLP that is refused changes nothing.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcielab_port_submit(
    port: *mut PcielabPort,
    tlp: *const PcielabTlp,
    ready_ps: u64,
    sent: *mut PcielabSent,
) -> c_int {
    // SAFETY: the caller gives null or valid pointers.
    unsafe { pcielab_port_submit_with(port, tlp, ready_ps, PcielabOutcome::Data as u32, sent) }
}

/// The same; a read gets the given PcielabOutcome, for example an error. Host and link have the work of the data in
/// any case: a completion without data comes when the last one with data would have come.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcielab_port_submit_with(
    port: *mut PcielabPort,
    tlp: *const PcielabTlp,
    ready_ps: u64,
    outcome: u32,
    sent: *mut PcielabSent,
) -> c_int {
    // SAFETY: the caller gives null or valid pointers.
    let (port, tlp, sent) = unsafe { (port.as_mut(), tlp.as_ref(), sent.as_mut()) };
    let (Some(port), Some(tlp)) = (port, tlp) else { return Code::Null as c_int };
    let (tlp, outcome) = match (tlp.checked(), layout::outcome(outcome)) {
        (Ok(tlp), Ok(outcome)) => (tlp, outcome),
        (Err(code), _) | (_, Err(code)) => return code as c_int,
    };
    port.change(|endpoint| match endpoint.submit_with(&tlp, Picoseconds(ready_ps), outcome) {
        Ok(done) => {
            if let Some(sent) = sent {
                *sent = PcielabSent::from(done);
            }
            Code::Done as c_int
        }
        Err(error) => fail(error),
    })
}

/// Gives up a read in flight, as a device does after its completion timeout. Completions that still come are no
/// events, and the tag is free when no more can come: pcielab_port_has_room says so.
///
/// # Safety
/// `port` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcielab_port_give_up(port: *mut PcielabPort, tag: u16) -> c_int {
    // SAFETY: the caller gives a null or valid pointer.
    let Some(port) = (unsafe { port.as_mut() }) else { return Code::Null as c_int };
    port.change(|endpoint| endpoint.give_up(tag).map_or_else(fail, |()| Code::Done as c_int))
}

/// Moves time on to `to_ps`; an earlier time changes nothing. TLPs that are submitted later must be ready at
/// `to_ps` less `flight_ps` (pcielab_port_limits) at the earliest.
///
/// # Safety
/// `port` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcielab_port_advance(port: *mut PcielabPort, to_ps: u64) -> c_int {
    // SAFETY: the caller gives a null or valid pointer.
    let Some(port) = (unsafe { port.as_mut() }) else { return Code::Null as c_int };
    port.change(|endpoint| endpoint.advance(Picoseconds(to_ps)).map_or_else(fail, |()| Code::Done as c_int))
}

/// Takes the next event up to the present time, in the order of time. Returns PCIELAB_CODE_NOTHING if there is none.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcielab_port_take(port: *mut PcielabPort, event: *mut PcielabEvent) -> c_int {
    // SAFETY: the caller gives null or valid pointers.
    let (port, event) = unsafe { (port.as_mut(), event.as_mut()) };
    let (Some(port), Some(event)) = (port, event) else { return Code::Null as c_int };
    port.change(|endpoint| {
        let Some(taken) = endpoint.take() else { return Code::Nothing as c_int };
        *event = PcielabEvent::from(taken);
        Code::Done as c_int
    })
}

/// Time before which there is no event without further TLPs; UINT64_MAX if nothing is under way or `port` is null.
/// Advancing to it makes progress, but may bring no event yet.
///
/// # Safety
/// `port` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcielab_port_next(port: *const PcielabPort) -> u64 {
    // SAFETY: the caller gives a null or valid pointer.
    let port = unsafe { port.as_ref() };
    port.and_then(|port| port.look(Endpoint::next_at).flatten()).map_or(u64::MAX, |at| at.0)
}

/// Looks at how much is in use.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcielab_port_occupancy(
    port: *const PcielabPort,
    occupancy: *mut PcielabOccupancy,
) -> c_int {
    // SAFETY: the caller gives null or valid pointers.
    let (port, occupancy) = unsafe { (port.as_ref(), occupancy.as_mut()) };
    let (Some(port), Some(occupancy)) = (port, occupancy) else { return Code::Null as c_int };
    let Some(found) = port.look(|endpoint| PcielabOccupancy::from(endpoint.occupancy())) else {
        return Code::Internal as c_int;
    };
    *occupancy = found;
    Code::Done as c_int
}
