//! The machine of the C library: several devices and the fabric between them.

use super::code::{Code, reported};
use super::guard::guarded;
use super::layout::{PcielabTlp, outcome};
use super::machine_layout::{
    PcielabMachineEvent, PcielabMachineLimits, PcielabMachineOptions, PcielabMachineRoom, options,
};
use crate::machine::{Machine, MachineError, read_description};
use crate::tlp::Kind;
use pcie_refusal::Refusal;
use pcie_time::Picoseconds;
use std::ffi::{c_char, c_int};
use std::ptr::null_mut;

/// Several devices, with the links, switches and hosts between them. Use it from one thread at a time; different
/// machines may be used at once.
pub struct PcielabMachine {
    machine: Machine,
    /// A panic has left it half changed.
    is_broken: bool,
}

impl PcielabMachine {
    /// Calls a function on the machine; a panic becomes a code, and marks the machine.
    fn change(&mut self, function: impl FnOnce(&mut Machine) -> Result<Code, MachineError>) -> c_int {
        if self.is_broken {
            return Code::Internal as c_int;
        }
        match guarded(|| function(&mut self.machine)) {
            Some(Ok(code)) => code as c_int,
            Some(Err(error)) => Code::from(error) as c_int,
            None => {
                self.is_broken = true;
                Code::Internal as c_int
            }
        }
    }

    /// The same for a function with a text of what is wrong.
    fn described(
        &mut self,
        function: impl FnOnce(&mut Machine) -> Result<(), Refusal>,
    ) -> Result<(), (Code, String)> {
        if self.is_broken {
            return Err((Code::Internal, INTERNAL.to_owned()));
        }
        match guarded(|| function(&mut self.machine)) {
            Some(done) => done.map_err(|refusal| (Code::System, refusal.to_string())),
            None => {
                self.is_broken = true;
                Err((Code::Internal, INTERNAL.to_owned()))
            }
        }
    }
}

const INTERNAL: &str = "internal error, a defect of the library";

impl From<MachineError> for Code {
    fn from(error: MachineError) -> Self {
        match error {
            MachineError::Tlp(error) => error.into(),
            MachineError::Node(_) => Self::Node,
            MachineError::Address { .. } => Self::Outside,
            MachineError::Route { .. } => Self::Route,
            MachineError::Request(_) => Self::Request,
        }
    }
}

/// Opens a machine, with nothing on its way, at time 0.
///
/// `description` is the TOML of a fabric or of a machine (`kind = "machine"`), or the JSON of a fabric with every key;
/// `description_bytes` is its length without a final zero. Presets of hosts and devices are those that pcielab ships.
/// `options` may be null. Both are only read during the call. On success `*machine` is the machine, which the caller
/// gives to pcielab_machine_free; otherwise it is null, and `text`, unless null, holds what is wrong in up to
/// `text_bytes` bytes with a final zero.
///
/// # Safety
/// `description` has `description_bytes` bytes, `text` has room for `text_bytes`, and the other pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcielab_machine_open(
    description: *const c_char,
    description_bytes: usize,
    options: *const PcielabMachineOptions,
    machine: *mut *mut PcielabMachine,
    text: *mut c_char,
    text_bytes: usize,
) -> c_int {
    if description.is_null() || machine.is_null() {
        // SAFETY: the caller gives `text` room for `text_bytes`.
        return unsafe { reported(Code::Null, "description or machine is null", text, text_bytes) };
    }
    // SAFETY: the caller gives `description_bytes` bytes at `description`, and a null or valid `options`.
    let (described, given) =
        unsafe { (std::slice::from_raw_parts(description.cast(), description_bytes), options.as_ref()) };
    let made = guarded(|| {
        let options = self::options(given)?;
        read_description(described).and_then(|topology| Machine::new(topology, options))
    });
    let made = match made {
        Some(made) => made.map_err(|refusal| (Code::System, refusal.to_string())),
        None => Err((Code::Internal, INTERNAL.to_owned())),
    };
    let (made, code) = match made {
        Ok(machine) => {
            (Box::into_raw(Box::new(PcielabMachine { machine, is_broken: false })), Code::Done as c_int)
        }
        // SAFETY: as above.
        Err((code, wrong)) => (null_mut(), unsafe { reported(code, &wrong, text, text_bytes) }),
    };
    // SAFETY: the caller gives a valid `machine`.
    unsafe { machine.write(made) };
    code
}

/// Frees a machine; null does nothing.
///
/// # Safety
/// `machine` is null or from pcielab_machine_open, and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcielab_machine_free(machine: *mut PcielabMachine) {
    if !machine.is_null() {
        // SAFETY: it is from `Box::into_raw`, and the caller gives it up.
        let machine = unsafe { Box::from_raw(machine) };
        let _ = guarded(|| drop(machine));
    }
}

/// Finds the number of a host or device by the name that the description gives it, which ends with a zero. `text`,
/// unless null, holds what is wrong, as in pcielab_machine_open.
///
/// # Safety
/// `name` is null or ends with a zero, `text` has room for `text_bytes`, and the other pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcielab_machine_node(
    machine: *mut PcielabMachine,
    name: *const c_char,
    node: *mut u32,
    text: *mut c_char,
    text_bytes: usize,
) -> c_int {
    // SAFETY: the caller gives null or valid pointers.
    let (machine, node) = unsafe { (machine.as_mut(), node.as_mut()) };
    let (Some(machine), Some(node), false) = (machine, node, name.is_null()) else {
        return Code::Null as c_int;
    };
    // SAFETY: the caller gives a name that ends with a zero.
    let name = unsafe { std::ffi::CStr::from_ptr(name) }.to_string_lossy();
    let found = machine.described(|machine| {
        *node = machine.node(&name)?;
        Ok(())
    });
    match found {
        Ok(()) => Code::Done as c_int,
        // SAFETY: the caller gives `text` room for `text_bytes`.
        Err((code, wrong)) => unsafe { reported(code, &wrong, text, text_bytes) },
    }
}

/// Lets the caller stand for a device. Reads of its BARs become events, which pcielab_machine_complete answers, and so
/// do writes, as soon as they arrive. Other devices answer from the memories of the description. `bar_bytes`, unless 0,
/// gives a BAR to a device whose description has none. `text`, unless null, holds what is wrong, as in
/// pcielab_machine_open.
///
/// # Safety
/// `machine` is null or valid, and `text` has room for `text_bytes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcielab_machine_attach(
    machine: *mut PcielabMachine,
    node: u32,
    bar_bytes: u64,
    text: *mut c_char,
    text_bytes: usize,
) -> c_int {
    // SAFETY: the caller gives a null or valid pointer.
    let Some(machine) = (unsafe { machine.as_mut() }) else { return Code::Null as c_int };
    match machine.described(|machine| machine.attach(node, bar_bytes)) {
        Ok(()) => Code::Done as c_int,
        // SAFETY: the caller gives `text` room for `text_bytes`.
        Err((code, wrong)) => unsafe { reported(code, &wrong, text, text_bytes) },
    }
}

/// Reads the limits of a host or device, and the addresses of its memory or largest BAR.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcielab_machine_limits(
    machine: *mut PcielabMachine,
    node: u32,
    limits: *mut PcielabMachineLimits,
) -> c_int {
    // SAFETY: the caller gives null or valid pointers.
    let (machine, limits) = unsafe { (machine.as_mut(), limits.as_mut()) };
    let (Some(machine), Some(limits)) = (machine, limits) else { return Code::Null as c_int };
    machine.change(|machine| {
        *limits = PcielabMachineLimits::of(machine, node)?;
        Ok(Code::Done)
    })
}

/// Whether a tag and credits are free for a TLP of a node: 1, or 0 if it has to wait for an event first.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcielab_machine_has_room(
    machine: *mut PcielabMachine,
    node: u32,
    tlp: *const PcielabTlp,
) -> c_int {
    // SAFETY: the caller gives null or valid pointers.
    let (machine, tlp) = unsafe { (machine.as_mut(), tlp.as_ref()) };
    let (Some(machine), Some(Ok(tlp))) = (machine, tlp.map(PcielabTlp::checked)) else { return 0 };
    if machine.is_broken {
        return 0;
    }
    guarded(|| machine.machine.has_room(node, &tlp)).unwrap_or(false).into()
}

/// Sends a TLP of a host or device that is complete at `ready_ps`, the present time or later. Its address decides who
/// gets it: a host's memory, or a device's BAR. Interrupts, and messages with address 0, go to the nearest host. A TLP
/// that is refused changes nothing.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcielab_machine_submit(
    machine: *mut PcielabMachine,
    node: u32,
    tlp: *const PcielabTlp,
    ready_ps: u64,
) -> c_int {
    // SAFETY: the caller gives null or valid pointers.
    let (machine, tlp) = unsafe { (machine.as_mut(), tlp.as_ref()) };
    let (Some(machine), Some(tlp)) = (machine, tlp) else { return Code::Null as c_int };
    let tlp = match tlp.checked() {
        Ok(tlp) => tlp,
        Err(code) => return code as c_int,
    };
    machine.change(|machine| machine.submit(node, &tlp, Picoseconds(ready_ps)).map(|()| Code::Done))
}

/// Queues a transfer of any size within one memory: the machine cuts it into TLPs and sends them when tags and credits
/// are free. `kind` is PCIELAB_KIND_READ or PCIELAB_KIND_WRITE. `number`, unless null, is the transfer's, which the
/// event PCIELAB_MACHINE_EVENT_KIND_DONE has. Transfers of a node begin in the order of their times.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcielab_machine_transfer(
    machine: *mut PcielabMachine,
    node: u32,
    kind: u32,
    address: u64,
    bytes: u64,
    ready_ps: u64,
    number: *mut u64,
) -> c_int {
    // SAFETY: the caller gives null or valid pointers.
    let (machine, number) = unsafe { (machine.as_mut(), number.as_mut()) };
    let Some(machine) = machine else { return Code::Null as c_int };
    let kind = match kind {
        0 => Kind::Read,
        1 => Kind::Write,
        _ => return Code::Kind as c_int,
    };
    machine.change(|machine| {
        let found = machine.transfer(node, kind, address, bytes, Picoseconds(ready_ps))?;
        if let Some(number) = number {
            *number = found;
        }
        Ok(Code::Done)
    })
}

/// Answers a read of a device that the caller stands for with its next `length` bytes, which the device has at
/// `ready_ps`. A read may be answered in several calls. `outcome` is a PcielabOutcome; Unsupported, Aborted and Lost
/// answer all of the rest, and have no bytes: give 0.
///
/// # Safety
/// `machine` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcielab_machine_complete(
    machine: *mut PcielabMachine,
    node: u32,
    request: u64,
    length: u32,
    ready_ps: u64,
    outcome: u32,
) -> c_int {
    // SAFETY: the caller gives a null or valid pointer.
    let Some(machine) = (unsafe { machine.as_mut() }) else { return Code::Null as c_int };
    let outcome = match self::outcome(outcome) {
        Ok(outcome) => outcome,
        Err(code) => return code as c_int,
    };
    machine.change(|machine| {
        machine.complete(node, request, length, Picoseconds(ready_ps), outcome).map(|()| Code::Done)
    })
}

/// Gives up a read of a TLP, as a device does after its completion timeout: its tag is free, and completions that still
/// come are no events.
///
/// # Safety
/// `machine` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcielab_machine_give_up(machine: *mut PcielabMachine, node: u32, tag: u16) -> c_int {
    // SAFETY: the caller gives a null or valid pointer.
    let Some(machine) = (unsafe { machine.as_mut() }) else { return Code::Null as c_int };
    machine.change(|machine| machine.give_up(node, tag).map(|()| Code::Done))
}

/// Moves time on to the next event, at most to `until_ps`, and takes it. Returns PCIELAB_CODE_NOTHING if there is none:
/// time is then `until_ps`. With UINT64_MAX it waits for any event; if nothing is on its way, time stays.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcielab_machine_wait(
    machine: *mut PcielabMachine,
    until_ps: u64,
    event: *mut PcielabMachineEvent,
) -> c_int {
    // SAFETY: the caller gives null or valid pointers.
    let (machine, event) = unsafe { (machine.as_mut(), event.as_mut()) };
    let (Some(machine), Some(event)) = (machine, event) else { return Code::Null as c_int };
    machine.change(|machine| {
        let until = (until_ps != u64::MAX).then_some(Picoseconds(until_ps));
        let Some(taken) = machine.wait(until)? else { return Ok(Code::Nothing) };
        *event = PcielabMachineEvent::from(taken);
        Ok(Code::Done)
    })
}

/// Moves time on to `to_ps`; an earlier time changes nothing. TLPs that are sent later must be ready at `to_ps` at the
/// earliest.
///
/// # Safety
/// `machine` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcielab_machine_advance(machine: *mut PcielabMachine, to_ps: u64) -> c_int {
    // SAFETY: the caller gives a null or valid pointer.
    let Some(machine) = (unsafe { machine.as_mut() }) else { return Code::Null as c_int };
    machine.change(|machine| machine.advance(Picoseconds(to_ps)).map(|()| Code::Done))
}

/// Takes the next event up to the present time, in the order of time. Returns PCIELAB_CODE_NOTHING if there is none.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcielab_machine_take(
    machine: *mut PcielabMachine,
    event: *mut PcielabMachineEvent,
) -> c_int {
    // SAFETY: the caller gives null or valid pointers.
    let (machine, event) = unsafe { (machine.as_mut(), event.as_mut()) };
    let (Some(machine), Some(event)) = (machine, event) else { return Code::Null as c_int };
    machine.change(|machine| {
        let Some(taken) = machine.take() else { return Ok(Code::Nothing) };
        *event = PcielabMachineEvent::from(taken);
        Ok(Code::Done)
    })
}

/// Time before which there is no event without further TLPs; UINT64_MAX if nothing is on its way or `machine` is null.
/// Advancing to it makes progress, but may bring no event yet.
///
/// # Safety
/// `machine` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcielab_machine_next(machine: *mut PcielabMachine) -> u64 {
    // SAFETY: the caller gives a null or valid pointer.
    let Some(machine) = (unsafe { machine.as_mut() }).filter(|machine| !machine.is_broken) else {
        return u64::MAX;
    };
    guarded(|| machine.machine.next_at()).flatten().map_or(u64::MAX, |at| at.0)
}

/// The present time; UINT64_MAX if `machine` is null.
///
/// # Safety
/// `machine` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcielab_machine_now(machine: *const PcielabMachine) -> u64 {
    // SAFETY: the caller gives a null or valid pointer.
    unsafe { machine.as_ref() }.map_or(u64::MAX, |machine| machine.machine.now().0)
}

/// Looks at how much of a node's tags and credits is in use.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcielab_machine_room(
    machine: *mut PcielabMachine,
    node: u32,
    room: *mut PcielabMachineRoom,
) -> c_int {
    // SAFETY: the caller gives null or valid pointers.
    let (machine, room) = unsafe { (machine.as_mut(), room.as_mut()) };
    let (Some(machine), Some(room)) = (machine, room) else { return Code::Null as c_int };
    machine.change(|machine| {
        *room = PcielabMachineRoom::of(machine, node)?;
        Ok(Code::Done)
    })
}
