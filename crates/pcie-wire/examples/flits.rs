//! Packs TLPs into flits: a line of input for each direction, a line of output for each of its flits.
//!
//!     echo '[[0, 4], [0, 67], [600, 3]]' | cargo run -p pcie-wire --example flits running
//!
//! A TLP is the bytes of flits that have been sent when it is ready, and its double words. A flit is the number of the
//! TLP in each of its double words, or null for a NOP.

use pcie_wire::{FLIT_DOUBLE_WORDS, FlitEntry, FlitStream};
use std::error::Error;

/// The flits of TLPs, up to the last one that carries any.
fn packed(entry: FlitEntry, tlps: &[(u64, u64)]) -> Vec<Vec<Option<usize>>> {
    let mut stream = FlitStream::new(entry);
    let mut flits = Vec::new();
    for (tlp, (sent_bytes, double_words)) in tlps.iter().enumerate() {
        for part in stream.add(*sent_bytes, *double_words).parts() {
            flits.resize(part.flit as usize + 1, vec![None; FLIT_DOUBLE_WORDS as usize]);
            if let Some(flit) = flits.last_mut() {
                flit[part.first as usize..][..part.double_words as usize].fill(Some(tlp));
            }
        }
    }
    flits
}

fn main() -> Result<(), Box<dyn Error>> {
    let entry = std::env::args().nth(1).unwrap_or_else(|| "running".to_owned());
    let entry = serde_json::from_value(entry.into())?;
    for direction in std::io::stdin().lines() {
        println!("{}", serde_json::to_string(&packed(entry, &serde_json::from_str::<Vec<_>>(&direction?)?))?);
    }
    Ok(())
}
