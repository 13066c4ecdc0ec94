//! A machine as the file of a fabric, for TLPs: links carry what their generation and lanes give.
//!
//! Links of devices beside PCIe are left out. What a root complex carries between its ports is unknown: nothing limits
//! it here. `pcielab.expectations` has the fabric of a machine's flows, with what published machines reach.

use std::fmt::Write as _;

use super::{MachineFile, Part};
use crate::fabrics::INSIDE_GBYTES_PER_S;

const ROOT: &str = "root complex";

impl MachineFile {
    /// The names of the memories of its sockets: `host`, or `host0` and so on.
    fn hosts(&self) -> Vec<String> {
        let known = self.parts.iter().filter_map(|part| part.socket).map(|socket| socket + 1);
        match known.max().unwrap_or(1).max(self.sockets.unwrap_or(1)) {
            1 => vec!["host".to_owned()],
            count => (0..count).map(|number| format!("host{number}")).collect(),
        }
    }

    /// The TOML of the fabric, which [`read_fabric`](crate::read_fabric) checks. Devices have the presets of their
    /// kinds, and hosts that of the machine's host profile.
    #[must_use]
    pub fn fabric(&self) -> String {
        let hosts = self.hosts();
        let title = if self.title.is_empty() { &self.name } else { &self.title };
        let mut text = format!("name = {}\ntitle = {}\n", quoted(&self.name), quoted(title));
        let mps = self.parts.iter().filter_map(|part| part.link?.mps_bytes).min();
        mps.iter().for_each(|mps| line(&mut text, format_args!("mps_bytes = {mps}")));
        line(&mut text, format_args!("provenance = {{ source = \"the machine's description\" }}"));
        node(&mut text, ROOT, "internal-switch");
        for (number, host) in hosts.iter().enumerate() {
            let upper = socket_name(number, hosts.len());
            if upper != ROOT {
                node(&mut text, &upper, "internal-switch");
                link(&mut text, ROOT, &upper, None);
            }
            node(&mut text, host, "host");
            self.host.iter().for_each(|host| line(&mut text, format_args!("host = {}", quoted(host))));
            link(&mut text, &upper, host, None);
        }
        for part in &self.parts {
            let kind = match part.kind.as_str() {
                kind @ ("switch" | "gpu" | "nic" | "nvme" | "fpga") => kind,
                _ => "device",
            };
            node(&mut text, &part.name, kind);
            if part.redirects == Some(true) && kind == "switch" {
                line(
                    &mut text,
                    format_args!("turns_at = {}", quoted(&self.upper(self.top(part), hosts.len()))),
                );
            }
            link(
                &mut text,
                &self.upper(part, hosts.len()),
                &part.name,
                part.link.map(|link| (link.generation, link.lanes)),
            );
        }
        text
    }

    /// The node above a part.
    fn upper(&self, part: &Part, sockets: usize) -> String {
        match (&part.upper, part.socket) {
            (Some(upper), _) => upper.clone(),
            (None, Some(socket)) => socket_name(socket as usize, sockets),
            (None, None) => ROOT.to_owned(),
        }
    }

    /// The part below the root port that leads to a part; in a circle, which readers of fabrics refuse, any of it.
    fn top<'a>(&'a self, part: &'a Part) -> &'a Part {
        let mut top = part;
        for _ in 0..self.parts.len() {
            let Some(upper) = self.parts.iter().find(|upper| Some(&upper.name) == top.upper.as_ref()) else {
                break;
            };
            top = upper;
        }
        top
    }
}

fn socket_name(number: usize, sockets: usize) -> String {
    if sockets == 1 { ROOT.to_owned() } else { format!("socket{number}") }
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a text cannot fail.
    let _ = writeln!(text, "{line}");
}

fn node(text: &mut String, name: &str, kind: &str) {
    line(text, format_args!("[[node]]\nname = {}\nkind = {}", quoted(name), quoted(kind)));
}

/// A link; one without generation and lanes limits nothing.
fn link(text: &mut String, upper: &str, lower: &str, shape: Option<(u32, u32)>) {
    line(text, format_args!("[[link]]\nupper = {}\nlower = {}", quoted(upper), quoted(lower)));
    match shape {
        Some((generation, lanes)) => line(text, format_args!("generation = {generation}\nlanes = {lanes}")),
        None => {
            let rate = INSIDE_GBYTES_PER_S;
            line(text, format_args!("down_gbytes_per_s = {rate:?}\nup_gbytes_per_s = {rate:?}"));
        }
    }
}

/// A text of TOML: what JSON escapes, TOML does, too.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use crate::{read_machine, read_table};

    fn fabric(text: &str) -> String {
        read_machine(read_table(text, "m", |_| None).unwrap(), "m").unwrap().fabric()
    }

    #[test]
    fn parts_hang_below_their_switch_or_socket() {
        let text = "kind = \"machine\"\nname = \"box\"\nsockets = 2\n[[switch]]\nname = \"sw\"\nlink = \"gen5x16\"\n\
            socket = 1\nredirects = true\n[[device]]\nname = \"gpu0..1\"\nkind = \"gpu\"\nlink = \"gen4x16-mps128\"\n\
            below = \"sw\"\n[[device]]\nname = \"nic\"\nkind = \"nic\"\nlink = \"gen4x8\"\n";
        let made = fabric(text);
        for piece in [
            "mps_bytes = 128",
            "upper = \"socket1\"\nlower = \"sw\"\ngeneration = 5\nlanes = 16",
            "turns_at = \"socket1\"",
            "upper = \"sw\"\nlower = \"gpu1\"\ngeneration = 4\nlanes = 16",
            "upper = \"root complex\"\nlower = \"nic\"\n",
            "upper = \"socket0\"\nlower = \"host0\"",
        ] {
            assert!(made.contains(piece), "{piece}\n{made}");
        }
    }
}
