//! A host together with every handle of its buffer, for owners that may drop it in another thread.

use crate::buffer::{Buffer, SharedBuffer};
use crate::error::HostError;
use crate::host::RealHost;
use crate::options::HostOptions;
use crate::topology::Topology;
use std::cell::{Ref, RefMut};
use std::thread::{self, ThreadId};

/// A host and all handles of its buffer. Only the thread that opened it can use it, for that thread is pinned.
pub struct WholeHost {
    host: RealHost,
    buffer: SharedBuffer,
    thread: ThreadId,
}

// SAFETY: both handles of the buffer are in here, the methods lend them to one thread only, and nothing clones them:
// whichever thread drops this drops both. The memory itself does not depend on a thread.
unsafe impl Send for WholeHost {}

impl WholeHost {
    /// Pins this thread and allocates the buffer, as [`RealHost::open`].
    ///
    /// # Errors
    /// Those of [`RealHost::open`].
    pub fn open(
        options: &HostOptions,
        topology: Topology,
        device_node: Option<u32>,
    ) -> Result<Self, HostError> {
        let (host, buffer) = RealHost::open(options, topology, device_node)?;
        Ok(Self { host, buffer, thread: thread::current().id() })
    }

    /// The host; None in any thread but the one that opened it.
    pub fn host(&mut self) -> Option<&mut RealHost> {
        (thread::current().id() == self.thread).then_some(&mut self.host)
    }

    /// The buffer; None in any thread but the one that opened it.
    #[must_use]
    pub fn buffer(&self) -> Option<Ref<'_, Buffer>> {
        (thread::current().id() == self.thread).then(|| self.buffer.borrow())
    }

    /// The buffer, to change it; None in any thread but the one that opened it.
    pub fn buffer_mut(&mut self) -> Option<RefMut<'_, Buffer>> {
        (thread::current().id() == self.thread).then(|| self.buffer.borrow_mut())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Cold, PageSize};

    #[test]
    fn another_thread_drops_it_but_does_not_use_it() {
        let (page_bytes, cold) = (PageSize::FourKib, Cold::Thrash);
        let options = HostOptions { page_bytes, buffer_bytes: 1 << 20, node: None, core: None, cold };
        let mut whole = WholeHost::open(&options, Topology::here(), None).unwrap();
        assert!(whole.host().is_some() && whole.buffer().is_some() && whole.buffer_mut().is_some());
        let elsewhere = thread::spawn(move || {
            let hidden = whole.host().is_none() && whole.buffer().is_none() && whole.buffer_mut().is_none();
            drop(whole);
            hidden
        });
        assert!(elsewhere.join().unwrap());
    }
}
