//! Reads texts that show a machine, or copies of /sys, and prints one line for each: its tree as JSON, or
//! `{"refused": WHY}`.
//!
//! `cargo run -p pcie-evidence --example machine FILE...`

use std::io::Write;
use std::path::Path;

use pcie_evidence::{Tree, machine_of_text};
use pcie_refusal::Refusal;

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for path in std::env::args().skip(1) {
        let line = match tree(&path)? {
            Ok(tree) => serde_json::to_string(&tree)?,
            Err(refusal) => serde_json::json!({ "refused": refusal.to_string() }).to_string(),
        };
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn tree(path: &str) -> std::io::Result<Result<Tree, Refusal>> {
    #[cfg(unix)]
    if Path::new(path).is_dir() {
        return Ok(pcie_evidence::read_sysfs(Some(Path::new(path))));
    }
    let content = std::fs::read(Path::new(path))?;
    Ok(machine_of_text(&String::from_utf8_lossy(&content), path))
}
