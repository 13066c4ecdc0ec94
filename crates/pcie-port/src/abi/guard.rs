//! The border that no panic crosses: a defect of the library becomes a code, and the host that met it is not used again.

use super::PcielabPort;
use super::code::Code;
use crate::endpoint::Endpoint;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a function gives, or `None` if it panics. The panic has printed where it was.
pub(super) fn guarded<T>(function: impl FnOnce() -> T) -> Option<T> {
    // What a panic may leave half changed is either dropped by it, or marked by `change`.
    catch_unwind(AssertUnwindSafe(function)).ok()
}

impl PcielabPort {
    /// Calls a function that changes the host.
    pub(super) fn change(&mut self, function: impl FnOnce(&mut Endpoint) -> c_int) -> c_int {
        if self.is_broken {
            return Code::Internal as c_int;
        }
        guarded(|| function(&mut self.endpoint)).unwrap_or_else(|| {
            self.is_broken = true;
            Code::Internal as c_int
        })
    }

    /// Calls a function that only looks at the host; `None` if it panics, or if the host is broken.
    pub(super) fn look<T>(&self, function: impl FnOnce(&Endpoint) -> T) -> Option<T> {
        if self.is_broken { None } else { guarded(|| function(&self.endpoint)) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::*;
    use std::ffi::CStr;
    use std::ptr::null;

    const SYSTEM: &str = include_str!("../../../pcie-sim/tests/fixtures/hsw2620.json");

    #[test]
    fn a_panic_becomes_a_code_and_the_host_refuses_further_calls() {
        let internal = Code::Internal as c_int;
        let tlp = PcielabTlp { length: 64, ..PcielabTlp::default() };
        let mut port = null_mut();
        // SAFETY: the pointers are to values of this function, and the port is freed once, at the end.
        unsafe {
            let json = SYSTEM.as_ptr().cast();
            assert_eq!(pcielab_port_create(json, SYSTEM.len(), null(), &raw mut port, null_mut(), 0), 0);
            assert_eq!((*port).look(|_| -> c_int { panic!("a defect while looking") }), None);
            assert_eq!(pcielab_port_advance(port, 1000), 0, "looking has changed nothing");
            assert_eq!((*port).change(|_| panic!("a defect while changing")), internal);
            assert_eq!(pcielab_port_submit(port, &raw const tlp, 2000, null_mut()), internal);
            assert_eq!(pcielab_port_advance(port, 2000), internal);
            assert_eq!(pcielab_port_take(port, &mut PcielabEvent::default()), internal);
            assert_eq!(pcielab_port_address(port, 0, &mut 0), internal);
            assert_eq!(pcielab_port_occupancy(port, &mut PcielabOccupancy::default()), internal);
            assert_eq!(pcielab_port_has_room(port, &raw const tlp), 0);
            assert_eq!(pcielab_port_next(port), u64::MAX);
            let text = CStr::from_ptr(pcielab_code_text(internal)).to_str().unwrap();
            assert!(text.starts_with("internal error"), "{text}");
            pcielab_port_free(port);
        }
    }
}
