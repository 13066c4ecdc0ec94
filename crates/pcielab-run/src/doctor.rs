//! `pcielab-run doctor`: find PCIe settings that cost bandwidth or latency.

use crate::failure::{Failure, printable};
use crate::output::write;
use clap::Args;
use pcie_doctor::{branches, describe, draw, examine};
use pcie_evidence::{Tree, machine_of_text, read_sysfs};
use pcie_refusal::Refusal;
use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};
use std::fs::File;
use std::io::{Read, stdin};
use std::path::{Path, PathBuf};

const STANDARD_INPUT: &str = "-";
const SYS: &str = "/sys";
const MOST_BYTES: u64 = 32 << 20;
const WIDTH: usize = 110;

/// The machine, and how to report on it.
#[derive(Args)]
pub(crate) struct DoctorArguments {
    /// Output of `sudo lspci -vvv`, a kernel's log, a topology, a file that `pcielab doctor --save` wrote, or a copy
    /// of /sys; - is standard input. Without it, this machine.
    file: Option<PathBuf>,
    /// Write one JSON object, as `pcielab doctor --format json` does.
    #[arg(long)]
    json: bool,
    /// Print the tree, with the capacity of each link and the severities, before the findings.
    #[arg(long)]
    tree: bool,
    /// What you noticed: errors, slow, latency, p2p, hang, missing, or a value such as 3.2 GB/s. Findings that
    /// explain it come first.
    #[arg(long)]
    symptom: Option<String>,
}

/// Examines a machine and prints the findings.
pub(crate) fn doctor(arguments: &DoctorArguments) -> Result<(), Failure> {
    let tree = read(arguments)?;
    let mut examination = examine(&tree, Vec::new(), arguments.symptom.as_deref())?;
    if arguments.json {
        examination.tree = arguments.tree.then(|| branches(&tree));
        let mut text = Vec::new();
        examination
            .serialize(&mut Serializer::with_formatter(&mut text, PrettyFormatter::with_indent(b" ")))
            .map_err(Refusal::new)?;
        text.push(b'\n');
        return write(&text);
    }
    for line in &examination.unseen {
        eprintln!("not seen: {}", printable(line));
    }
    let mut text = if arguments.tree { draw(&tree, &examination) + "\n" } else { String::new() };
    text += &describe(&examination, &tree, WIDTH, arguments.symptom.is_some());
    let lines: Vec<String> = text.split('\n').map(printable).collect();
    write((lines.join("\n") + "\n").as_bytes())
}

fn read(arguments: &DoctorArguments) -> Result<Tree, Refusal> {
    match arguments.file.as_deref() {
        None => read_sysfs(None),
        Some(path) if path == Path::new(SYS) => read_sysfs(None),
        Some(path) if path.is_dir() => read_sysfs(Some(path)),
        Some(path) => read_text(path),
    }
}

fn read_text(path: &Path) -> Result<Tree, Refusal> {
    let is_input = path.as_os_str() == STANDARD_INPUT;
    let source = if is_input { "standard input".to_owned() } else { path.display().to_string() };
    let mut content = Vec::new();
    let read = if is_input {
        stdin().take(MOST_BYTES + 1).read_to_end(&mut content)
    } else {
        File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut content))
    };
    read.map_err(|error| Refusal::new(error).about(&source))?;
    if content.len() as u64 > MOST_BYTES {
        let problem = format!("is longer than {} MiB: give the text of one machine", MOST_BYTES >> 20);
        return Err(Refusal::worded(problem).about(&source));
    }
    machine_of_text(&String::from_utf8_lossy(&content), &source)
}
