//! Changed captures of every format: each is read or refused with a message, without a panic and in bounded memory.

mod samples;

use pcie_capture::{Facts, Format, Options, read};
use std::ops::ControlFlow;

/// Pseudo-random numbers (xorshift): the same files on every machine.
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }
}

/// Parts of files that readers take for more than bytes.
const PARTS: [&[u8]; 16] = [
    b"\n",
    b",",
    b"(",
    b")",
    b"0x",
    b"\"",
    b"ffffffffffffffffffffffff",
    b"-1",
    b"99999999999999999999",
    b"\xff\xff\xff\xff",
    b"\0\0\0\0",
    b"$end",
    b"#",
    b"Tlp(",
    b"[511:0]",
    b"\xf0\x9f\xa6\x80",
];

fn changed(sample: &[u8], draws: &mut Draws) -> Vec<u8> {
    let mut bytes = sample.to_vec();
    for _ in 0..1 + draws.below(4) {
        let at = draws.below(bytes.len());
        let length = draws.below(40).min(bytes.len() - at.min(bytes.len()));
        match draws.below(7) {
            0 => bytes.truncate(at),
            1 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << draws.below(8);
                }
            }
            2 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = draws.below(256) as u8;
                }
            }
            3 => {
                bytes.drain(at..at + length);
            }
            4 => {
                let copy = bytes[at..at + length].to_vec();
                let to = draws.below(bytes.len());
                bytes.splice(to..to, copy);
            }
            5 => {
                let part = PARTS[draws.below(PARTS.len())];
                bytes.splice(at..at, part.iter().copied());
            }
            _ => {
                let part = PARTS[draws.below(PARTS.len())];
                let end = (at + part.len()).min(bytes.len());
                bytes.splice(at..end, part.iter().copied());
            }
        }
    }
    bytes
}

/// Compressed samples are changed below their compression, every tenth time above it.
fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    let unpacked = std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(bytes), &mut text);
    if unpacked.is_ok() { text } else { bytes.to_vec() }
}

#[test]
fn any_change_is_read_or_refused() {
    let files: u64 =
        std::env::var("PCIELAB_CAPTURES").ok().and_then(|count| count.parse().ok()).unwrap_or(400);
    let samples = samples::all();
    let whole: Vec<Vec<u8>> = samples.iter().map(|(_, bytes)| unpacked(bytes)).collect();
    let (mut taken, mut refused) = (0_u64, 0_u64);
    for number in 0..files {
        let mut draws = Draws(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(number + 1) | 1);
        let index = number as usize % samples.len();
        let packed = number % 11 == 0;
        let bytes = changed(if packed { &samples[index].1 } else { &whole[index] }, &mut draws);
        let format = (draws.below(8) == 0).then(|| Format::ALL[draws.below(Format::ALL.len())]);
        let clock_ps = (draws.below(2) == 0).then_some(4000);
        let options = Options { format, clock_ps, skip_bytes: draws.below(64) / 60, ..Options::default() };
        let mut events = 0_u64;
        let result: Result<Facts, _> = read(&mut bytes.as_slice(), &options, &mut |event| {
            events += 1;
            assert!(std::mem::size_of_val(&event) <= 256);
            ControlFlow::Continue(())
        });
        match result {
            Ok(facts) => {
                taken += 1;
                assert!(
                    facts.skipped.len() < 20 && facts.ports.len() < 5000,
                    "{}: {facts:?}",
                    samples[index].0
                );
            }
            Err(refusal) => {
                refused += 1;
                let said = refusal.to_string();
                let plain = said.chars().all(|letter| letter == '\n' || !letter.is_control());
                assert!(plain && !said.is_empty() && said.len() < 5000, "{}: {said}", samples[index].0);
                assert!(refusal.remedy.is_some(), "{}: {said}", samples[index].0);
            }
        }
    }
    assert!(taken > files / 10 && refused > files / 10, "{taken} read, {refused} refused");
    println!("{files} changed captures: {taken} read, {refused} refused");
}
