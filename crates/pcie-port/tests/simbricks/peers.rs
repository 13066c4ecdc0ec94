//! A device and a host for SimBricks, written apart from the brick from the description of the interface.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use std::io::{IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

pub const ENTRY_BYTES: u64 = 9088;
pub const ENTRIES: u64 = 512;
/// Tests that wait longer than this hang.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a device says first: the defaults are right.
#[derive(Clone)]
pub struct Hello {
    pub numbers: [u64; 10],
    pub intro_bytes: usize,
    pub file_bytes: u64,
    pub with_file: bool,
    /// Nothing follows: it shuts its side of the socket down.
    pub is_all: bool,
    /// Whether the brick can keep the file's length.
    pub can_be_sealed: bool,
}

impl Default for Hello {
    fn default() -> Self {
        let ring = ENTRY_BYTES * ENTRIES;
        let numbers = [1, 1, 0, ENTRY_BYTES, ENTRIES, ring, ENTRY_BYTES, ENTRIES, 2, 80];
        Self {
            numbers,
            intro_bytes: 119,
            file_bytes: 2 * ring,
            with_file: true,
            is_all: false,
            can_be_sealed: false,
        }
    }
}

/// A received message.
pub struct Got {
    pub kind: u8,
    pub stamp: u64,
    pub fields: [u8; 48],
    pub data: Vec<u8>,
}

impl Got {
    pub fn number(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.fields[at..at + 8].try_into().unwrap())
    }

    pub fn length(&self) -> usize {
        u16::from_le_bytes([self.fields[16], self.fields[17]]).into()
    }
}

/// The packed fields of a read or write.
pub fn request(number: u64, address: u64, length: u16) -> Vec<u8> {
    [&number.to_le_bytes()[..], &address.to_le_bytes(), &length.to_le_bytes()].concat()
}

/// One side of a connection.
pub struct Peer {
    pub socket: UnixStream,
    /// The file with the rings.
    pub file: OwnedFd,
    start: *mut u8,
    bytes: usize,
    /// Offset and entries of the two rings, and the position in each.
    incoming: (u64, u64, u64),
    outgoing: (u64, u64, u64),
    /// The newest stamp from the other side.
    pub seen: u64,
    last_sent: u64,
}

impl Drop for Peer {
    fn drop(&mut self) {
        // SAFETY: the mapping is this peer's, and not used any more.
        unsafe { munmap(self.start.cast(), self.bytes).unwrap() };
    }
}

fn map(file: &OwnedFd, bytes: usize) -> *mut u8 {
    // SAFETY: the kernel chooses the address.
    let start = unsafe {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        mmap(std::ptr::null_mut(), bytes, access, MapFlags::SHARED, file, 0)
    };
    start.unwrap().cast()
}

/// Listens as a device does; returns when the brick has connected and answered, or closed.
pub fn device(path: &Path, hello: &Hello) -> Peer {
    let listener = UnixListener::bind(path).unwrap();
    let (socket, _) = listener.accept().unwrap();
    greeted(socket, hello)
}

/// Says hello on a socket.
pub fn greeted(socket: UnixStream, hello: &Hello) -> Peer {
    let sealing = if hello.can_be_sealed { MemfdFlags::ALLOW_SEALING } else { MemfdFlags::empty() };
    let file = memfd_create("test", MemfdFlags::CLOEXEC | sealing).unwrap();
    ftruncate(&file, hello.file_bytes).unwrap();
    let mut bytes: Vec<u8> = hello.numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    bytes.resize(80 + hello.intro_bytes, 7);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let files = [file.as_fd()];
    if hello.with_file {
        ancillary.push(SendAncillaryMessage::ScmRights(&files));
    }
    sendmsg(&socket, &[IoSlice::new(&bytes)], &mut ancillary, SendFlags::NOSIGNAL).unwrap();
    if hello.is_all {
        socket.shutdown(Shutdown::Write).unwrap();
    }
    let ring = ENTRY_BYTES * ENTRIES;
    let bytes = (2 * ring) as usize;
    let start = map(&file, bytes);
    let mut answer = [0; 36];
    read_exactly(&socket, &mut answer);
    let (outgoing, incoming) = ((0, ENTRIES, 0), (ring, ENTRIES, 0));
    Peer { socket, file, start, bytes, incoming, outgoing, seen: 0, last_sent: 0 }
}

/// Connects as a host does.
pub fn host(path: &Path) -> Peer {
    let deadline = Instant::now() + PATIENCE;
    let socket = loop {
        match UnixStream::connect(path) {
            Ok(socket) => break socket,
            Err(error) if Instant::now() > deadline => panic!("{error}"),
            Err(_) => std::thread::yield_now(),
        }
    };
    let mut bytes = [0; 199];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let got =
        recvmsg(&socket, &mut [IoSliceMut::new(&mut bytes)], &mut ancillary, RecvFlags::empty()).unwrap();
    assert_eq!(got.bytes, 199);
    assert_eq!(bytes[80..], [7; 119], "the device's description has passed");
    let file = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        _ => None,
    });
    let number = |index: usize| u64::from_le_bytes(bytes[8 * index..8 * index + 8].try_into().unwrap());
    assert_eq!(
        [number(0), number(1) & 1, number(3), number(6), number(8)],
        [1, 1, ENTRY_BYTES, ENTRY_BYTES, 2]
    );
    let (incoming, outgoing) = ((number(2), number(4), 0), (number(5), number(7), 0));
    let bytes = (outgoing.0 + outgoing.1 * ENTRY_BYTES) as usize;
    let file = file.unwrap();
    let start = map(&file, bytes);
    let answer: Vec<u8> = [1_u64, 1, 2, 32].iter().flat_map(|number| number.to_le_bytes()).collect();
    (&socket).write_all(&[&answer[..], &[0; 4]].concat()).unwrap();
    Peer { socket, file, start, bytes, incoming, outgoing, seen: 0, last_sent: 0 }
}

fn read_exactly(socket: &UnixStream, bytes: &mut [u8]) {
    use std::io::Read;
    // A brick that refuses the greeting closes the socket.
    let mut socket = socket;
    let _ = socket.read(bytes);
}

impl Peer {
    /// Pointer to the entry at a ring's position; ours alone while its owner byte says so.
    fn entry(&self, (offset, _, position): (u64, u64, u64)) -> *mut u8 {
        // SAFETY: rings lie within the mapping.
        unsafe { self.start.add((offset + position * ENTRY_BYTES) as usize) }
    }

    fn owner(&self, entry: *mut u8) -> &AtomicU8 {
        // SAFETY: byte 63 of an entry within the mapping, which both sides use as an atomic.
        unsafe { AtomicU8::from_ptr(entry.add(63)) }
    }

    /// Whether the brick has closed its socket.
    pub fn is_closed(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut watched = [PollFd::new(&self.socket, PollFlags::IN)];
        poll(&mut watched, Some(&now)).unwrap() > 0
    }

    /// Sends a message, waiting for room; false if the brick is gone.
    pub fn put(&mut self, kind: u8, stamp: u64, fields: &[u8], data: &[u8]) -> bool {
        let entry = self.entry(self.outgoing);
        while self.owner(entry).load(Ordering::Acquire) & 0x80 != 0 {
            if self.is_closed() {
                return false;
            }
            std::thread::yield_now();
        }
        // SAFETY: the entry is the producer's, and data and fields fit.
        unsafe {
            entry.copy_from_nonoverlapping(fields.as_ptr(), fields.len());
            entry.add(48).copy_from_nonoverlapping(stamp.to_le_bytes().as_ptr(), 8);
            entry.add(64).copy_from_nonoverlapping(data.as_ptr(), data.len());
        }
        self.owner(entry).store(0x80 | kind, Ordering::Release);
        self.outgoing.2 = (self.outgoing.2 + 1) % self.outgoing.1;
        self.last_sent = stamp;
        true
    }

    /// Sends an empty message, if none was sent within the latency.
    pub fn tell(&mut self, now: u64, latency: u64) -> bool {
        let due = now + latency >= self.last_sent + latency || self.last_sent == 0;
        !due || self.put(0, now + latency, &[], &[])
    }

    /// The next message, if there is one.
    pub fn get(&mut self) -> Option<Got> {
        let entry = self.entry(self.incoming);
        let owner = self.owner(entry).load(Ordering::Acquire);
        if owner & 0x80 == 0 {
            return None;
        }
        let (mut fields, mut stamp) = ([0; 48], [0; 8]);
        let kind = owner & 0x7f;
        let mut data = vec![0; if matches!(kind, 0x41 | 0x62) { ENTRY_BYTES as usize - 64 } else { 0 }];
        // SAFETY: the entry is the consumer's.
        unsafe {
            fields.as_mut_ptr().copy_from_nonoverlapping(entry, 48);
            stamp.as_mut_ptr().copy_from_nonoverlapping(entry.add(48), 8);
            data.as_mut_ptr().copy_from_nonoverlapping(entry.add(64), data.len());
        }
        self.owner(entry).store(kind, Ordering::Release);
        self.incoming.2 = (self.incoming.2 + 1) % self.incoming.1;
        let stamp = u64::from_le_bytes(stamp);
        assert!(stamp >= self.seen, "the brick's time goes back");
        self.seen = stamp;
        Some(Got { kind, stamp, fields, data })
    }

    /// Waits for a message.
    pub fn wait(&mut self) -> Option<Got> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(got) = self.get() {
                return Some(got);
            }
            if self.is_closed() {
                return self.get();
            }
            assert!(Instant::now() < deadline, "the brick sends nothing");
            std::thread::yield_now();
        }
    }
}
