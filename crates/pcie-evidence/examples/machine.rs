//! Reads texts that show a machine and prints one line for each: its tree as JSON, or `{"refused": WHY}`.
//!
//! `cargo run -p pcie-evidence --example machine FILE...`

use std::io::Write;

use pcie_evidence::machine_of_text;

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for path in std::env::args().skip(1) {
        let content = std::fs::read(&path)?;
        let text = String::from_utf8_lossy(&content);
        let line = match machine_of_text(&text, &path) {
            Ok(tree) => serde_json::to_string(&tree)?,
            Err(refusal) => serde_json::json!({ "refused": refusal.to_string() }).to_string(),
        };
        writeln!(out, "{line}")?;
    }
    Ok(())
}
