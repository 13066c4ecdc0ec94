//! A ring of entries in shared memory, with one producer and one consumer in different processes.
//!
//! The other process may be hostile: everything is read once, as an atomic word, and checked after that.
#![allow(unsafe_code)]

use super::cut::{Watched, watch};
use super::message::{FIELD_BYTES, HEADER_BYTES, Message};
use rustix::fs::{SealFlags, fcntl_get_seals};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::os::fd::AsFd;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const WORD_BYTES: usize = 8;
/// Words of a header: the fields, the time, and the word with owner and type in its last byte.
const TIME: usize = FIELD_BYTES / WORD_BYTES;
const OWNER: usize = HEADER_BYTES / WORD_BYTES - 1;
const CONSUMER_OWNS: u64 = 1 << 63;

/// A mapped file.
#[derive(Debug)]
pub(super) struct Mapping {
    start: NonNull<AtomicU64>,
    bytes: usize,
    /// Set if another process may cut the file short.
    watched: Option<&'static Watched>,
}

// SAFETY: it is memory of the process, which is only used through atomic words.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the first `bytes` of a file, which must have them. A file that is not sealed may lose them.
    pub(super) fn new(file: impl AsFd, bytes: usize) -> std::io::Result<Self> {
        let is_sealed = fcntl_get_seals(&file).is_ok_and(|seals| seals.contains(SealFlags::SHRINK));
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses the address, so that no other memory is replaced.
        let start = unsafe { mmap(null_mut(), bytes, access, MapFlags::SHARED, file, 0) }?;
        let start = NonNull::new(start.cast()).ok_or_else(|| std::io::Error::other("mapped at 0"))?;
        let mut mapping = Self { start, bytes, watched: None };
        if !is_sealed {
            mapping.watched = Some(watch(start.addr().get(), bytes)?);
        }
        Ok(mapping)
    }

    /// Whether its file was cut short: what is read since is zeros.
    pub(super) fn is_cut(&self) -> bool {
        self.watched.is_some_and(Watched::is_cut)
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        assert!(index < self.bytes / WORD_BYTES, "a ring lies within its mapping");
        // SAFETY: the word is within the mapping, which starts at a page, and lives as long as `self`.
        unsafe { self.start.add(index).as_ref() }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if let Some(watched) = self.watched {
            watched.release();
        }
        // SAFETY: the mapping is ours, and nothing refers to it any more. A failure leaves it mapped.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// Where a ring lies in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) offset: u64,
    pub(super) entry_bytes: u64,
    pub(super) entries: u64,
}

impl Layout {
    /// Bytes of the file up to the ring's end; `None` if it cannot be used.
    pub(super) fn end(&self) -> Option<usize> {
        const ENTRY_BYTES_MOST: u64 = 1 << 20;
        let whole_words = self.offset.is_multiple_of(8) && self.entry_bytes.is_multiple_of(8);
        let fits = (HEADER_BYTES as u64..=ENTRY_BYTES_MOST).contains(&self.entry_bytes) && self.entries > 0;
        let end = self.entries.checked_mul(self.entry_bytes)?.checked_add(self.offset)?;
        if whole_words && fits { usize::try_from(end).ok() } else { None }
    }
}

/// One end of a ring.
#[derive(Debug)]
pub(super) struct Ring {
    mapping: Arc<Mapping>,
    layout: Layout,
    next: u64,
}

impl Ring {
    /// A ring that lies within its mapping.
    pub(super) fn new(mapping: Arc<Mapping>, layout: Layout) -> Self {
        Self { mapping, layout, next: 0 }
    }

    /// Whether the file that it is in was cut short.
    pub(super) fn is_cut(&self) -> bool {
        self.mapping.is_cut()
    }

    /// The most data of a message.
    pub(super) fn data_bytes(&self) -> usize {
        self.layout.entry_bytes as usize - HEADER_BYTES
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        let start = self.layout.offset + self.next * self.layout.entry_bytes;
        self.mapping.word(start as usize / WORD_BYTES + index)
    }

    fn pass(&mut self) {
        self.next = (self.next + 1) % self.layout.entries;
    }

    /// Sends a message whose data fit; false while the ring is full.
    pub(super) fn send(&mut self, message: &Message) -> bool {
        if self.word(OWNER).load(Ordering::Acquire) & CONSUMER_OWNS != 0 {
            return false;
        }
        let words = |bytes: &[u8], at: usize| {
            for (index, chunk) in bytes.chunks(WORD_BYTES).enumerate() {
                let mut word = [0; WORD_BYTES];
                word[..chunk.len()].copy_from_slice(chunk);
                self.word(at + index).store(u64::from_le_bytes(word), Ordering::Relaxed);
            }
        };
        words(&message.data, OWNER + 1);
        words(&message.fields, 0);
        self.word(TIME).store(message.stamp, Ordering::Relaxed);
        let owner = CONSUMER_OWNS | u64::from(message.kind & 0x7f) << 56;
        self.word(OWNER).store(owner, Ordering::Release);
        self.pass();
        true
    }

    /// Takes the next message, with as much data as its length says and its entry has.
    pub(super) fn take(&mut self) -> Option<Message> {
        let owner = self.word(OWNER).load(Ordering::Acquire);
        if owner & CONSUMER_OWNS == 0 {
            return None;
        }
        let load = |at: usize, bytes: usize| -> Vec<u8> {
            let words = (0..bytes.div_ceil(WORD_BYTES))
                .flat_map(|index| self.word(at + index).load(Ordering::Relaxed).to_le_bytes());
            words.take(bytes).collect()
        };
        let kind = (owner >> 56) as u8 & 0x7f;
        let stamp = self.word(TIME).load(Ordering::Relaxed);
        let mut message = Message::new(kind, stamp, &load(0, FIELD_BYTES), Vec::new());
        let data_bytes = match kind {
            super::message::READ_DONE | super::message::REGISTER_READ_DONE => self.data_bytes(),
            _ if message.has_data() => usize::from(message.length()).min(self.data_bytes()),
            _ => 0,
        };
        message.data = load(OWNER + 1, data_bytes);
        self.word(OWNER).store(owner & !CONSUMER_OWNS, Ordering::Release);
        self.pass();
        Some(message)
    }
}
