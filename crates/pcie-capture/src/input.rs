//! A file as its readers see it: bytes and lines with their positions, through a buffer that does not grow with it.

use crate::event::{Event, Facts};
use flate2::read::MultiGzDecoder;
use pcie_refusal::{Kind, Refusal};
use std::io::{ErrorKind, Read};
use std::ops::ControlFlow;

/// Bytes that are read at once.
const CHUNK: usize = 1 << 18;
/// Most bytes of a line or of a block.
pub(crate) const LONGEST: usize = 1 << 24;
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Where a reader puts its events.
pub(crate) type Take<'a> = &'a mut dyn FnMut(Event) -> ControlFlow<()>;

/// Why a reader ends before its file does.
pub(crate) enum End {
    /// The receiver has enough.
    Enough,
    /// The file is wrong.
    Refused(Refusal),
}

impl From<Refusal> for End {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<ControlFlow<()>> for End {
    fn from(_: ControlFlow<()>) -> Self {
        Self::Enough
    }
}

/// Hands an event over, and ends the reader if that was the last one wanted.
pub(crate) fn give(take: Take<'_>, event: Event) -> Result<(), End> {
    if take(event).is_break() { Err(End::Enough) } else { Ok(()) }
}

/// The facts of a reader that has come to its end.
pub(crate) fn ended(result: Result<(), End>, facts: Facts) -> Result<Facts, Refusal> {
    match result {
        Ok(()) | Err(End::Enough) => Ok(facts),
        Err(End::Refused(refusal)) => Err(refusal),
    }
}

/// The refusal of a file that does not follow its format.
pub(crate) fn malformed(at: &str, problem: impl std::fmt::Display) -> Refusal {
    Refusal::new(format!("{at}: {problem}")).kind(Kind::Malformed)
}

/// A file, or what is compressed in it.
pub(crate) struct Input<'a> {
    source: Box<dyn Read + 'a>,
    buffer: Vec<u8>,
    /// Bytes of the buffer that are consumed.
    start: usize,
    /// Offset of `start` in the file; in what is unpacked for a compressed one.
    at: u64,
    /// Number of the line that was read last, from 1.
    line: u64,
    whole: bool,
}

impl<'a> Input<'a> {
    /// A file; one compressed by gzip is unpacked on the way.
    pub(crate) fn open(source: &'a mut dyn Read) -> Result<Self, Refusal> {
        let mut packed = Self::of(Box::new(source));
        if packed.peek(2)? != GZIP {
            return Ok(packed);
        }
        let start = std::mem::take(&mut packed.buffer);
        let whole = std::io::Cursor::new(start).chain(packed.source);
        Ok(Self::of(Box::new(MultiGzDecoder::new(whole))))
    }

    fn of(source: Box<dyn Read + 'a>) -> Self {
        Self { source, buffer: Vec::new(), start: 0, at: 0, line: 0, whole: false }
    }

    /// Offset of the next byte.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// Number of the line that was read last.
    pub(crate) fn line_number(&self) -> u64 {
        self.line
    }

    /// Position in words: the line that was read last.
    pub(crate) fn in_line(&self) -> String {
        format!("line {}", self.line)
    }

    /// Reads another chunk.
    #[inline(never)]
    fn fill(&mut self) -> Result<(), Refusal> {
        self.buffer.drain(..self.start);
        self.start = 0;
        let filled = self.buffer.len();
        self.buffer.resize(filled + CHUNK, 0);
        let read = loop {
            match self.source.read(&mut self.buffer[filled..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        self.buffer.truncate(filled + read.as_ref().map_or(0, |read| (*read).min(CHUNK)));
        let read = read.map_err(|error| {
            let at = self.at + filled as u64;
            Refusal::new(format!("byte {at}: {error}")).kind(Kind::Damaged).remedy("give the whole file")
        })?;
        self.whole = read == 0;
        Ok(())
    }

    /// The next bytes, as many as asked for unless the file ends before.
    pub(crate) fn peek(&mut self, bytes: usize) -> Result<&[u8], Refusal> {
        while self.buffer.len() - self.start < bytes && !self.whole {
            self.fill()?;
        }
        let end = self.buffer.len().min(self.start + bytes);
        Ok(&self.buffer[self.start..end])
    }

    /// Passes over bytes that [`Self::peek`] has shown.
    pub(crate) fn consume(&mut self, bytes: usize) {
        let bytes = bytes.min(self.buffer.len() - self.start);
        self.start += bytes;
        self.at += bytes as u64;
    }

    /// The next line without its end; None at the end of the file.
    pub(crate) fn line(&mut self) -> Result<Option<&[u8]>, Refusal> {
        let mut searched = 0;
        let length = loop {
            let rest = &self.buffer[self.start..];
            if let Some(end) = rest[searched..].iter().position(|&byte| byte == b'\n') {
                break searched + end + 1;
            }
            searched = rest.len();
            if self.whole {
                break searched;
            }
            if searched > LONGEST {
                return Err(malformed(
                    &format!("line {}", self.line + 1),
                    format!("longer than {LONGEST} bytes"),
                )
                .remedy("give a capture as text with a packet or sample a line"));
            }
            self.fill()?;
        };
        if length == 0 {
            return Ok(None);
        }
        self.line += 1;
        self.at += length as u64;
        self.start += length;
        let line = &self.buffer[self.start - length..self.start];
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        Ok(Some(line.strip_suffix(b"\r").unwrap_or(line)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    /// A source that gives a few bytes at a time.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
            let bytes = self.0.len().min(3).min(to.len());
            to[..bytes].copy_from_slice(&self.0[..bytes]);
            self.0 = &self.0[bytes..];
            Ok(bytes)
        }
    }

    #[test]
    fn lines_and_bytes_have_positions() {
        let mut source = Slow(b"one\r\ntwo\n\nfour");
        let mut input = Input::open(&mut source).unwrap();
        assert_eq!(input.peek(5).unwrap(), b"one\r\n");
        assert_eq!(input.line().unwrap(), Some(&b"one"[..]));
        assert_eq!((input.at(), input.line_number()), (5, 1));
        assert_eq!(input.line().unwrap(), Some(&b"two"[..]));
        assert_eq!(input.line().unwrap(), Some(&b""[..]));
        assert_eq!(input.peek(9).unwrap(), b"four");
        input.consume(2);
        assert_eq!(input.line().unwrap(), Some(&b"ur"[..]));
        assert_eq!(input.line().unwrap(), None);
        assert_eq!(input.at(), 14);
    }

    #[test]
    fn compressed_files_are_unpacked_and_cut_ones_refused() {
        let text = "a line of text\n".repeat(100_000);
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(text.as_bytes()).unwrap();
        let packed = packed.finish().unwrap();
        let lines = |mut bytes: &[u8]| -> Result<u64, Refusal> {
            let mut input = Input::open(&mut bytes)?;
            while input.line()?.is_some() {}
            Ok(input.line_number())
        };
        assert_eq!(lines(&packed).unwrap(), 100_000);
        assert_eq!(lines(text.as_bytes()).unwrap(), 100_000);
        let cut = lines(&packed[..packed.len() / 2]).unwrap_err().to_string();
        assert!(cut.starts_with("byte "), "{cut}");
    }
}
