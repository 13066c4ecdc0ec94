//! Meeting the other side: a Unix socket, the description of the rings, and the file that they are in.

use super::error::BrickError;
use super::peer::Peer;
use super::ring::{Layout, Mapping, Ring};
use super::socket::{MadeSocket, is_other_file};
use super::wait::Wait;
use pcie_refusal::{Kind, Refusal};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fstat, ftruncate, memfd_create};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use std::io::{IoSlice, IoSliceMut, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

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
pub(super) fn connect(path: &Path, wait: &mut Wait<'_>) -> Result<(Peer, Vec<u8>), BrickError> {
    let socket = loop {
        match UnixStream::connect(path) {
            Ok(socket) => break socket,
            Err(_) if is_other_file(path) => {
                let remedy = "give the path of the socket on which the device's simulator listens";
                return Err(Refusal::new("is not a socket")
                    .kind(Kind::WrongValue)
                    .about(path.display().to_string())
                    .remedy(remedy)
                    .into());
            }
            Err(_) if !wait.is_over() => wait.a_moment()?,
            Err(error) => {
                let remedy = "start the device's simulator, which listens there";
                return Err(Refusal::new(error).about(path.display().to_string()).remedy(remedy).into());
            }
        }
    };
    let mut answer = numbers(&[VERSION, SYNC_WANTED | SYNC_FORCED, PCIE, CONNECTER_BYTES as u64]);
    answer.extend(HOST_INTRO);
    let (bytes, file) = receive(&socket, path, LISTENER_BYTES, DEVICE_INTRO_BYTES, wait)?;
    let intro = check(path, &bytes, [0, 1, 8, 9], DEVICE_INTRO_BYTES)?;
    let file = file.ok_or_else(|| BrickError::of(path, "sends no file with its rings"))?;
    let number = |index| number(&bytes, index);
    let [incoming, outgoing] =
        [2, 5].map(|at| Layout { offset: number(at), entry_bytes: number(at + 1), entries: number(at + 2) });
    let (Some(first), Some(second)) = (incoming.end(), outgoing.end()) else {
        return Err(BrickError::of(path, "describes rings with a wrong offset, length or number of entries"));
    };
    let bytes = first.max(second);
    // Where its kind allows that, the file keeps its length from here on; the mapping is watched elsewhere.
    let _ = fcntl_add_seals(&file, SealFlags::SHRINK);
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
    made: MadeSocket,
}

impl Expected {
    pub(super) fn new(path: &Path) -> Result<Self, BrickError> {
        Ok(Self { made: MadeSocket::new(path)? })
    }

    /// Waits for the host, and tells it about the device.
    pub(super) fn accept(self, intro: &[u8], wait: &mut Wait<'_>) -> Result<Peer, BrickError> {
        let MadeSocket { path, listener, .. } = &self.made;
        if !wait.readable(listener)? {
            return Err(BrickError::of(path, "no host has connected: start its simulator"));
        }
        let (socket, _) = listener.accept().map_err(|error| BrickError::of(path, error))?;
        let ring_bytes = ENTRIES * ENTRY_BYTES;
        let [outgoing, incoming] =
            [0, ring_bytes].map(|offset| Layout { offset, entry_bytes: ENTRY_BYTES, entries: ENTRIES });
        let file = sealed_file(2 * ring_bytes).map_err(|error| BrickError::of(path, error))?;
        let mapping =
            Mapping::new(&file, 2 * ring_bytes as usize).map_err(|error| BrickError::of(path, error))?;
        let mut hello = vec![VERSION, SYNC_WANTED | SYNC_FORCED];
        for Layout { offset, entry_bytes, entries } in [outgoing, incoming] {
            hello.extend([offset, entry_bytes, entries]);
        }
        hello.extend([PCIE, LISTENER_BYTES as u64]);
        send_with(&socket, path, &[&numbers(&hello), intro].concat(), &file)?;
        let (bytes, _) = receive(&socket, path, CONNECTER_BYTES, HOST_INTRO.len(), wait)?;
        check(path, &bytes, [0, 1, 2, 3], HOST_INTRO.len())?;
        let mapping = Arc::new(mapping);
        let rings = [incoming, outgoing].map(|layout| Ring::new(Arc::clone(&mapping), layout));
        Ok(Peer::new(path, socket, rings))
    }
}

/// A file in memory whose length nobody can change.
fn sealed_file(bytes: u64) -> rustix::io::Result<OwnedFd> {
    let file = memfd_create("pcielab-simbricks", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    ftruncate(&file, bytes)?;
    fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(file)
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

/// Receives a message of at least `head + intro` bytes, with the file that may come with it.
fn receive(
    socket: &UnixStream,
    path: &Path,
    head: usize,
    intro: usize,
    wait: &mut Wait<'_>,
) -> Result<(Vec<u8>, Option<OwnedFd>), BrickError> {
    let (mut bytes, mut file) = (Vec::new(), None);
    while bytes.len() < head + intro {
        if !wait.readable(socket)? {
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
