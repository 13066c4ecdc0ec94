//! Save a tree as JSON, to examine it on another machine, and read it again.
//!
//! The file identifies neither machine nor device: it has no serial numbers, MAC addresses or host name, and of the
//! kernel's command line only the parameters about PCI, IOMMU and power.

use std::io::{BufReader, Read};

use pcie_refusal::shown::named;
use pcie_refusal::{Kind, Refusal, Unfinished};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_path_to_error::Segment;

use crate::letters::first_letters;
use crate::pattern::{Pattern, SLOT, compiled};
use crate::stop::Stop;
use crate::tree::{FUNCTIONS_MOST, Function, LinkEnd, PAYLOADS, SPEEDS, Tree};

const HEAD_LETTERS: usize = 65_536;
/// Bytes between two questions whether to stop: less than a millisecond.
const PIECE_BYTES: usize = 1 << 16;
const RCB_BYTES: [u32; 2] = [64, 128];

static OF_LSPCI: Pattern = Pattern::new(|| compiled(&format!(r"(?m)^[ \t>]*{SLOT} \S")));
static WHOLE_SLOT: Pattern = Pattern::new(|| compiled(r"^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$"));
static LABEL: Pattern = Pattern::new(|| compiled("^[A-Za-z0-9_.-]{1,64}$"));
static PEER: Pattern = Pattern::new(|| compiled("^[a-z0-9-]{1,16}$"));
static FIELD: Pattern = Pattern::new(|| compiled("(?:missing|unknown) field `([^`]*)`"));

/// The format of the file.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
enum Format {
    #[default]
    #[serde(rename = "pcielab-tree-1")]
    Tree1,
}

/// The content of the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedTree<'a> {
    #[serde(default)]
    format: Format,
    /// The version that wrote it.
    pcielab: String,
    tree: std::borrow::Cow<'a, Tree>,
}

/// The content of the file of a tree, without the fields that are absent; `version` is that of the program.
///
/// # Errors
/// A number of the tree is infinite.
pub fn saved(tree: &Tree, version: &str) -> Result<String, serde_json::Error> {
    let tree = std::borrow::Cow::Borrowed(tree);
    let mut content =
        serde_json::to_value(SavedTree { format: Format::Tree1, pcielab: version.into(), tree })?;
    remove_absent(&mut content);
    let mut text = Vec::new();
    let form = serde_json::ser::PrettyFormatter::with_indent(b" ");
    content.serialize(&mut serde_json::Serializer::with_formatter(&mut text, form))?;
    text.push(b'\n');
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn remove_absent(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(remove_absent);
        }
        Value::Array(values) => values.iter_mut().for_each(remove_absent),
        _ => {}
    }
}

/// The tree of the content of a saved file.
///
/// # Errors
/// It is not a saved tree, was made by a later version, or the reading was stopped.
pub fn read_saved(text: &str, source: &str, stop: Stop<'_>) -> Result<Tree, Unfinished> {
    let count = text.matches("\"slot\"").count();
    if count > FUNCTIONS_MOST {
        let remedy = format!("give a machine of {FUNCTIONS_MOST} at most");
        let refusal = Refusal::new(format!("{count} PCI functions")).remedy(remedy);
        return Err(refusal.kind(Kind::TooLarge).about(source).into());
    }
    let pieces = BufReader::with_capacity(PIECE_BYTES, InPieces { left: text.as_bytes(), stop });
    let content = serde_json::from_reader::<_, Value>(pieces);
    stop.check()?;
    let read = content
        .map_err(|_| String::new())
        .and_then(|content| {
            serde_path_to_error::deserialize::<_, SavedTree<'_>>(content).map_err(|error| wrong_path(&error))
        })
        .map(|saved| saved.tree.into_owned())
        .and_then(|tree| wrong_value(&tree, "tree").map_or(Ok(tree), Err));
    let mut tree = read.map_err(|path| refusal(text, source, &path))?;
    tree.source = source.to_owned();
    Ok(tree)
}

/// Bytes that are read until they are all read, or the reading is stopped.
struct InPieces<'a> {
    left: &'a [u8],
    stop: Stop<'a>,
}

impl Read for InPieces<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.stop.check().map_err(std::io::Error::other)?;
        self.left.read(into)
    }
}

fn refusal(text: &str, source: &str, path: &str) -> Refusal {
    let refusal = if OF_LSPCI.is_match(first_letters(text, HEAD_LETTERS)) {
        Refusal::new("the output of lspci, not a saved tree").remedy(format!("give it with --lspci {source}"))
    } else {
        let wrong = named(if path.is_empty() { "the whole file" } else { path });
        Refusal::new(format!("not a saved tree ({wrong} is wrong)"))
            .remedy("give a file that `pcielab doctor --save` wrote")
    };
    refusal.kind(Kind::Malformed).about(source)
}

/// The path of what could not be read: `tree.functions.0.slot`; empty for the whole file.
fn wrong_path(error: &serde_path_to_error::Error<serde_json::Error>) -> String {
    let keys = error.path().iter().filter_map(|segment| match segment {
        Segment::Seq { index } => Some(index.to_string()),
        Segment::Map { key } => Some(key.clone()),
        Segment::Enum { .. } | Segment::Unknown => None,
    });
    let parent = keys.collect::<Vec<_>>().join(".");
    let message = error.inner().to_string();
    match FIELD.captures(&message) {
        Some(found) if parent.is_empty() => found[1].to_owned(),
        Some(found) if !parent.ends_with(&found[1]) => format!("{parent}.{}", &found[1]),
        _ => parent,
    }
}

/// The path of the first value that a tree cannot have.
fn wrong_value(tree: &Tree, path: &str) -> Option<String> {
    let functions = tree.functions().iter().enumerate();
    let of_functions = functions.filter_map(|(number, one)| {
        wrong_field(one).map(|field| format!("{path}.functions.{number}.{field}"))
    });
    let peers = tree.peers.iter().enumerate().filter(|(_, peer)| !PEER.is_match(&peer.kind));
    let of_peers = peers.map(|(number, _)| format!("{path}.peers.{number}.kind"));
    let later = tree.later.iter().enumerate();
    let of_later = later.filter_map(|(number, one)| wrong_value(one, &format!("{path}.later.{number}")));
    of_functions.chain(of_peers).chain(of_later).next()
}

fn wrong_field(function: &Function) -> Option<String> {
    if !WHOLE_SLOT.is_match(&function.slot) {
        return Some("slot".into());
    }
    if let Some(field) = function.link.as_ref().and_then(wrong_of_link) {
        return Some(format!("link.{field}"));
    }
    if let Some(control) = &function.control {
        let sizes = [
            ("max_payload_bytes", control.max_payload_bytes),
            ("mps_bytes", control.mps_bytes),
            ("mrrs_bytes", control.mrrs_bytes),
        ];
        let wrong = sizes.iter().find(|(_, size)| size.is_some_and(|size| !PAYLOADS.contains(&size)));
        if let Some((field, _)) = wrong {
            return Some(format!("control.{field}"));
        }
    }
    let label = function.label.as_ref().filter(|label| !LABEL.is_match(label));
    label.map(|_| "label".into())
}

fn wrong_of_link(link: &LinkEnd) -> Option<&'static str> {
    let speeds = [
        ("max_speed_gtps", link.max_speed_gtps),
        ("speed_gtps", link.speed_gtps),
        ("target_speed_gtps", link.target_speed_gtps),
    ];
    let wrong = speeds.into_iter().find(|(_, speed)| speed.is_some_and(|speed| !SPEEDS.contains(&speed)));
    let rcb = link.rcb_bytes.filter(|size| !RCB_BYTES.contains(size)).map(|_| "rcb_bytes");
    wrong.map(|(field, _)| field).or(rcb)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        read_saved(text, "a.json", Stop::NEVER).unwrap_err().to_string()
    }

    #[test]
    fn a_saved_tree_is_read_back() {
        let link = LinkEnd { speed_gtps: Some(16.0), lanes: Some(8), ..LinkEnd::default() };
        let function = Function { slot: "0000:01:00.0".into(), link: Some(link), ..Function::default() };
        let tree = Tree::new("a.json", vec![function]);
        let text = saved(&tree, "1.2").unwrap();
        assert!(text.starts_with("{\n \"format\": \"pcielab-tree-1\",\n \"pcielab\": \"1.2\","), "{text}");
        assert!(!text.contains("null") && text.contains("\"speed_gtps\": 16.0"), "{text}");
        assert_eq!(read_saved(&text, "a.json", Stop::NEVER).unwrap(), tree);
    }

    #[test]
    fn a_refusal_names_the_wrong_field() {
        let remedy = "give a file that `pcielab doctor --save` wrote";
        for (text, place) in [
            ("{", "the whole file"),
            ("{}", "pcielab"),
            (r#"{"pcielab": "1", "tree": {"source": "a"}}"#, "tree.functions"),
            (r#"{"pcielab": "1", "more": 1}"#, "more"),
            (
                r#"{"pcielab": "1", "tree": {"source": "a", "functions": [], "\u001b[2J": 1}}"#,
                "'tree.\\u{1b}[2J'",
            ),
            (
                r#"{"pcielab": "1", "tree": {"source": "a", "functions": [{"slot": "0000:01:00.0", "title": "", "vendor_id": 4294967296}]}}"#,
                "tree.functions.0.vendor_id",
            ),
            (
                r#"{"pcielab": "1", "tree": {"source": "a", "functions": [{"slot": "1", "title": ""}]}}"#,
                "tree.functions.0.slot",
            ),
            (
                r#"{"pcielab": "1", "tree": {"source": "a", "functions": [{"slot": "0000:01:00.0", "title": "", "link": {"speed_gtps": 3.0}}]}}"#,
                "tree.functions.0.link.speed_gtps",
            ),
        ] {
            assert_eq!(refused(text), format!("a.json: not a saved tree ({place} is wrong): {remedy}"));
        }
    }

    #[test]
    fn a_text_of_lspci_within_braces_is_named() {
        assert!(
            refused("{\n01:00.0 Ethernet controller: A\n")
                .starts_with("a.json: the output of lspci, not a saved")
        );
    }

    #[test]
    fn too_many_functions_are_refused() {
        assert!(refused(&"\"slot\"".repeat(FUNCTIONS_MOST + 1)).contains("8193 PCI functions"));
    }
}
