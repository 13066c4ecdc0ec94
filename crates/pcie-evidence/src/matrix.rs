//! The matrix of `nvidia-smi topo -m` or `rocm-smi --showtopo`: how devices reach each other, without slots.

use crate::pattern::{Pattern, compiled};
use crate::tree::Peer;

const ROWS_MOST: usize = 256;
const NAME: &str = r"(?:GPU[0-9]{1,3}|NIC[0-9]{1,3}|mlx\w{1,16}|[A-Za-z]\w{0,12}_[0-9]{1,3})";

static HEAD: Pattern = Pattern::new(|| compiled(&format!(r"(?m)^[ \t>|]*(?:{NAME}[ \t]+){{1,}}(?:{NAME})?")));
static ROW: Pattern = Pattern::new(|| {
    let cell = r"(?:X|PIX|PXB|PHB|NODE|SYS|SOC|C2C|NV[0-9]{1,2}|XGMI|PCIE)[ \t]*";
    compiled(&format!(r"(?m)^[ \t>|]*(?P<name>{NAME})[ \t]+(?P<cells>(?:{cell})+)"))
});
static BONDED: Pattern = Pattern::new(|| compiled("^NV([0-9]{1,2})$"));

/// The pairs of a matrix, each once; empty without a matrix.
///
/// It has no slots and no registers: each pair of devices gets the word that the matrix shows for it.
pub(crate) fn matrix(text: &str) -> Vec<Peer> {
    let rows: Vec<_> = ROW.captures_iter(text).take(ROWS_MOST).collect();
    if rows.len() < 2 || !HEAD.is_match(text) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        for (other, word) in rows[..number].iter().zip(row["cells"].split_whitespace()) {
            if word != "X" {
                found.push(peer(word, &other["name"], &row["name"]));
            }
        }
    }
    found
}

fn peer(word: &str, one: &str, other: &str) -> Peer {
    let links = BONDED.captures(word).and_then(|found| found[1].parse().ok());
    let kind = if links.is_some() { "nvlink".to_owned() } else { word.to_ascii_lowercase() };
    Peer { kind, ends: (one.to_owned(), other.to_owned()), links }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pair_is_found_once() {
        let text = "\tGPU0\tGPU1\tmlx5_0\nGPU0\t X \tNV4\tPIX\nGPU1\tNV4\t X \tSYS\nmlx5_0\tPIX\tSYS\t X \n";
        let found: Vec<_> =
            matrix(text).into_iter().map(|peer| (peer.kind, peer.ends.0, peer.ends.1, peer.links)).collect();
        let pair = |kind: &str, one: &str, other: &str, links| {
            (kind.to_owned(), one.to_owned(), other.to_owned(), links)
        };
        assert_eq!(
            found,
            [
                pair("nvlink", "GPU0", "GPU1", Some(4)),
                pair("pix", "GPU0", "mlx5_0", None),
                pair("sys", "GPU1", "mlx5_0", None),
            ]
        );
    }

    #[test]
    fn a_device_is_no_neighbour_of_itself_where_a_row_is_missing() {
        let text = "\tGPU0\tGPU1\tGPU2\nGPU1\tSYS\t X \tPIX\nGPU2\t X \tPIX\t X \n";
        assert!(matrix(text).is_empty());
    }

    #[test]
    fn rows_without_a_head_are_no_matrix() {
        assert!(matrix("GPU0\tX\n").is_empty());
    }
}
