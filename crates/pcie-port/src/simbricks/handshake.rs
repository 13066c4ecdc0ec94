//! Meeting the other side: a Unix socket, the description of the rings, and the file that they are in.

use super::error::BrickError;
use super::peer::Peer;
use super::ring::{Layout, Mapping, Ring};
use pcie_refusal::Refusal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, fstat, ftruncate, memfd_create};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use std::io::{IoSlice, IoSliceMut, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

const VERSION: u64 = 1;
/// The other side wants time to bind; it must.
const SYNC_WANTED: u64 = 1;
const SYNC_FORCED: u64 = 2;
/// PCIe among the protocols above the base.
const PCIE: u64 = 2;
const LISTENER_BYTES: usize = 80;
const CONNECTER_BYTES: usize = 32;
/// Bytes of a device's description: six BARs, identifiers, interrupts.
pub const DEVICE_INTRO_BYTES: usize = 119;
const HOST_INTRO: [u8; 4] = [0; 4];
/// The rings of a brick: as many entries of the same size as SimBricks has by default.
const ENTRIES: u64 = 8192;
const ENTRY_BYTES: u64 = 9088;

/// Connects to a device, waiting for it to listen; returns its description, too.
pub(super) fn connect(path: &Path, patience: Duration) -> Result<(Peer, Vec<u8>), BrickError> {
    let deadline = Instant::now() + patience;
    let socket = loop {
        match UnixStream::connect(path) {
            Ok(socket) => break socket,
            Err(_) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(5)),
            Err(error) => {
                let remedy = "start the device's simulator, which listens there";
                return Err(Refusal::new(error).about(path.display().to_string()).remedy(remedy).into());
            }
        }
    };
    let mut answer = numbers(&[VERSION, SYNC_WANTED | SYNC_FORCED, PCIE, CONNECTER_BYTES as u64]);
    answer.extend(HOST_INTRO);
    let (bytes, file) = receive(&socket, path, LISTENER_BYTES, DEVICE_INTRO_BYTES, deadline)?;
    let intro = check(path, &bytes, [0, 1, 8, 9], DEVICE_INTRO_BYTES)?;
    let file = file.ok_or_else(|| BrickError::of(path, "sends no file with its rings"))?;
    let number = |index| number(&bytes, index);
    let [incoming, outgoing] =
        [2, 5].map(|at| Layout { offset: number(at), entry_bytes: number(at + 1), entries: number(at + 2) });
    let (Some(first), Some(second)) = (incoming.end(), outgoing.end()) else {
        return Err(BrickError::of(path, "describes rings with a wrong offset, length or number of entries"));
    };
    let bytes = first.max(second);
    let size = fstat(&file).map_err(|error| BrickError::of(path, error))?.st_size;
    if bytes as u64 > u64::try_from(size).unwrap_or(0) {
        return Err(BrickError::of(
            path,
            format!("its file of {size} bytes is shorter than its rings, {bytes}"),
        ));
    }
    if (incoming.offset as usize) < second && (outgoing.offset as usize) < first {
        return Err(BrickError::of(path, "describes rings that overlap"));
    }
    let mapping = Arc::new(Mapping::new(&file, bytes).map_err(|error| BrickError::of(path, error))?);
    send(&socket, path, &answer)?;
    let rings = [incoming, outgoing].map(|layout| Ring::new(Arc::clone(&mapping), layout));
    Ok((Peer::new(path, socket, rings), intro))
}

/// A socket on which a host is expected. Its file goes with it.
#[derive(Debug)]
pub(super) struct Expected {
    path: PathBuf,
    listener: UnixListener,
}

impl Expected {
    pub(super) fn new(path: &Path) -> Result<Self, BrickError> {
        let listener = UnixListener::bind(path).map_err(|error| {
            let remedy = "give a path in a folder that exists, without a file there";
            Refusal::new(error).about(path.display().to_string()).remedy(remedy)
        })?;
        Ok(Self { path: path.to_owned(), listener })
    }

    /// Waits for the host, and tells it about the device.
    pub(super) fn accept(self, intro: &[u8], patience: Duration) -> Result<Peer, BrickError> {
        let path = &*self.path;
        let deadline = Instant::now() + patience;
        if !readable(&self.listener, deadline) {
            return Err(BrickError::of(path, "no host has connected: start its simulator"));
        }
        let (socket, _) = self.listener.accept().map_err(|error| BrickError::of(path, error))?;
        let ring_bytes = ENTRIES * ENTRY_BYTES;
        let [outgoing, incoming] =
            [0, ring_bytes].map(|offset| Layout { offset, entry_bytes: ENTRY_BYTES, entries: ENTRIES });
        let failed = |error| BrickError::of(path, error);
        let file = memfd_create("pcielab-simbricks", MemfdFlags::CLOEXEC).map_err(failed)?;
        ftruncate(&file, 2 * ring_bytes).map_err(failed)?;
        let mapping =
            Mapping::new(&file, 2 * ring_bytes as usize).map_err(|error| BrickError::of(path, error))?;
        let mut hello = vec![VERSION, SYNC_WANTED | SYNC_FORCED];
        for Layout { offset, entry_bytes, entries } in [outgoing, incoming] {
            hello.extend([offset, entry_bytes, entries]);
        }
        hello.extend([PCIE, LISTENER_BYTES as u64]);
        send_with(&socket, path, &[&numbers(&hello), intro].concat(), &file)?;
        let (bytes, _) = receive(&socket, path, CONNECTER_BYTES, HOST_INTRO.len(), deadline)?;
        check(path, &bytes, [0, 1, 2, 3], HOST_INTRO.len())?;
        let mapping = Arc::new(mapping);
        let rings = [incoming, outgoing].map(|layout| Ring::new(Arc::clone(&mapping), layout));
        Ok(Peer::new(path, socket, rings))
    }
}

impl Drop for Expected {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn numbers(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// A number of a message that has it.
fn number(bytes: &[u8], index: usize) -> u64 {
    let field = bytes.get(8 * index..8 * index + 8).and_then(|field| field.try_into().ok());
    field.map_or(0, u64::from_le_bytes)
}

/// Checks version, synchronisation and protocol at their positions; returns the upper intro.
fn check(
    path: &Path,
    bytes: &[u8],
    [version, flags, protocol, intro]: [usize; 4],
    intro_bytes: usize,
) -> Result<Vec<u8>, BrickError> {
    let number = |index| number(bytes, index);
    let wrong = |problem: String| Err(BrickError::of(path, problem));
    if number(version) != VERSION {
        return wrong(format!("speaks version {} of the interface: this is {VERSION}", number(version)));
    }
    if number(flags) & SYNC_WANTED == 0 {
        return wrong("does not synchronise: start it with synchronisation on".into());
    }
    if number(protocol) != PCIE {
        return wrong(format!("speaks protocol {}: PCIe is {PCIE}", number(protocol)));
    }
    let start = usize::try_from(number(intro)).unwrap_or(usize::MAX);
    match bytes.get(start..start.saturating_add(intro_bytes)) {
        Some(intro) => Ok(intro.to_vec()),
        None => wrong(format!("puts its description at byte {start} of {}", bytes.len())),
    }
}

/// Whether there is something to read before the deadline.
fn readable(socket: impl AsFd, deadline: Instant) -> bool {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let limit = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&socket, PollFlags::IN)], Some(&limit)) {
            Ok(ready) => return ready > 0,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// Receives a message of at least `head + intro` bytes, with the file that may come with it.
fn receive(
    socket: &UnixStream,
    path: &Path,
    head: usize,
    intro: usize,
    deadline: Instant,
) -> Result<(Vec<u8>, Option<OwnedFd>), BrickError> {
    let (mut bytes, mut file) = (Vec::new(), None);
    while bytes.len() < head + intro {
        if !readable(socket, deadline) {
            let problem =
                format!("sent {} bytes of its greeting of {}, then nothing", bytes.len(), head + intro);
            return Err(BrickError::of(path, problem));
        }
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut chunk = [0; 4096];
        let received =
            recvmsg(socket, &mut [IoSliceMut::new(&mut chunk)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)
                .map_err(|error| BrickError::of(path, error))?;
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(files) = message {
                file = files.last().or(file);
            }
        }
        if received.bytes == 0 {
            return Err(BrickError::of(path, "closed its socket before its greeting was complete"));
        }
        bytes.extend(&chunk[..received.bytes]);
    }
    Ok((bytes, file))
}

fn send(mut socket: &UnixStream, path: &Path, bytes: &[u8]) -> Result<(), BrickError> {
    socket.write_all(bytes).map_err(|error| BrickError::of(path, error))
}

/// Sends a message with a file.
fn send_with(socket: &UnixStream, path: &Path, bytes: &[u8], file: &OwnedFd) -> Result<(), BrickError> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let files = [file.as_fd()];
    ancillary.push(SendAncillaryMessage::ScmRights(&files));
    let sent = sendmsg(socket, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::NOSIGNAL)
        .map_err(|error| BrickError::of(path, error))?;
    send(socket, path, &bytes[sent..])
}
