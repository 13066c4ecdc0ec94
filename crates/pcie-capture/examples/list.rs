//! Lists the packets of a capture of any format as CSV: `cargo run --example list FILE`.

use pcie_capture::{Facts, Format, Options, WriteOptions, Writer, read};
use std::io::{Write, stdout};
use std::ops::ControlFlow;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("give a file")?;
    let mut events = Vec::new();
    let options = Options { clock_ps: Some(4000), ..Options::default() };
    let facts: Facts = read(&mut std::fs::File::open(path)?, &options, &mut |event| {
        events.push(event);
        ControlFlow::Continue(())
    })?;
    let mut writer = Writer::new(Format::List, &facts, &WriteOptions::default(), stdout().lock())?;
    for event in &events {
        writer.event(event)?;
    }
    let (_, mut out) = writer.finish()?;
    writeln!(out, "# {} {:?} {:?}", facts.format, facts.ports, facts.skipped)?;
    Ok(())
}
