//! Groups of tests of transfers.

use pcie_refusal::shown::quoted;
use pcie_refusal::unknown::suggestion;
use pcie_refusal::{Kind, Refusal};
use pcie_schema::quantity::{Count, Size};
use pcie_workload::{CacheState, PUBLISHED, Pattern, Test, TestRecord, published_transactions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Group, wrong};

/// A parameter that can vary.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Axis {
    Test,
    Pattern,
    Cache,
    Size,
    Window,
    Offset,
    Stride,
    Outstanding,
}

/// Tests that share a family (a file of the published format): all combinations of some lists.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Group")]
#[serde(deny_unknown_fields)]
pub(super) struct TransferGroup {
    /// File of the results. `{direction}` stands for the test's `rd`, `wr`, `rw` or `wrrd`, `{size}` for its size,
    /// `{size:02}` with two digits.
    #[schemars(length(min = 1, max = 200))]
    family: String,
    /// Order of the nested loops, outermost first: every list with more than one entry must be named.
    #[serde(default, rename = "loop")]
    order: Vec<Axis>,
    /// Published names of the micro-benchmarks.
    #[schemars(length(min = 1))]
    tests: Vec<String>,
    /// Order of the accesses to the window.
    #[schemars(length(min = 1))]
    patterns: Vec<Pattern>,
    /// State of the caches before it.
    #[schemars(length(min = 1))]
    caches: Vec<CacheState>,
    /// Transfer size: bytes, `"4K"`, or a range `"240:271"`, both ends included.
    #[schemars(with = "Vec<Size>", length(min = 1))]
    sizes: Vec<u64>,
    /// Window: bytes, `"4K"`, or a range.
    #[schemars(with = "Vec<Size>", length(min = 1))]
    windows: Vec<u64>,
    /// Offset from a cache line on the host, bytes.
    #[serde(default)]
    #[schemars(inner(range(min = 0, max = 4095)))]
    host_offsets: Vec<u64>,
    /// Offset from an 8 KiB boundary on the device, bytes.
    #[serde(default)]
    #[schemars(inner(range(min = 0, max = 4095)))]
    device_offsets: Vec<u64>,
    /// Distance of a strided pattern's accesses, in units (a transfer in whole cache lines); 1 for others.
    #[serde(default)]
    #[schemars(with = "Vec<Count>")]
    strides: Vec<u64>,
    /// Maximum number of requests in flight; empty: the device's own limit.
    #[serde(default)]
    #[schemars(with = "Vec<Count>")]
    outstanding: Vec<u32>,
    /// Transactions of each test; absent: the published suite's number for its operation.
    #[serde(default)]
    #[schemars(with = "Option<Count>")]
    transactions: Option<u64>,
    /// Whether the result includes the full distribution.
    #[serde(default)]
    details: bool,
}

impl Group for TransferGroup {
    type Test = TestRecord;
    type Axis = Axis;
    const AXES: &'static [Axis] = &[
        Axis::Test,
        Axis::Pattern,
        Axis::Cache,
        Axis::Size,
        Axis::Window,
        Axis::Offset,
        Axis::Stride,
        Axis::Outstanding,
    ];

    fn order(&self) -> &[Axis] {
        &self.order
    }

    fn length(&self, axis: Axis) -> usize {
        match axis {
            Axis::Test => self.tests.len(),
            Axis::Pattern => self.patterns.len(),
            Axis::Cache => self.caches.len(),
            Axis::Size => self.sizes.len(),
            Axis::Window => self.windows.len(),
            Axis::Offset => (self.host_offsets.len() + self.device_offsets.len()).max(1),
            Axis::Stride => self.strides.len().max(1),
            Axis::Outstanding => self.outstanding.len().max(1),
        }
    }

    fn check(&self) -> Result<(), Refusal> {
        let known = PUBLISHED.map(|(name, ..)| name);
        for (nth, test) in self.tests.iter().enumerate() {
            if !known.contains(&test.as_str()) {
                let remedy = format!("unknown test: {}", suggestion(test, &known));
                return wrong(&format!("tests.{nth}"), quoted(test), remedy);
            }
        }
        pieces(&self.family).map(drop)
    }

    fn test(&self, at: &[(Axis, usize)]) -> Result<TestRecord, Refusal> {
        let mut name = "";
        let mut test = Test { details: self.details, stride_units: 1, ..Test::default() };
        for &(axis, nth) in at {
            match axis {
                Axis::Test => {
                    let known = PUBLISHED.iter().find(|(name, ..)| *name == self.tests[nth]);
                    (name, test.operation, test.path) = known.copied().unwrap_or_default();
                }
                Axis::Pattern => test.pattern = self.patterns[nth],
                Axis::Cache => test.cache = self.caches[nth],
                Axis::Size => test.size_bytes = self.sizes[nth],
                Axis::Window => test.window_bytes = self.windows[nth],
                Axis::Offset if nth < self.host_offsets.len() => {
                    test.host_offset_bytes = self.host_offsets[nth];
                }
                // Offsets on the device come after those on the host.
                Axis::Offset => {
                    let offset = self.device_offsets.get(nth - self.host_offsets.len());
                    test.device_offset_bytes = offset.copied().unwrap_or_default();
                }
                Axis::Stride => test.stride_units = self.strides.get(nth).copied().unwrap_or(1),
                Axis::Outstanding => test.outstanding = self.outstanding.get(nth).copied(),
            }
        }
        test.transactions =
            self.transactions.unwrap_or_else(|| published_transactions(test.operation, self.details));
        test.validate().map_err(|refusal| {
            let parts = refusal.clone().into_parts();
            match (parts.key, parts.value, parts.remedy) {
                (Some(key), Some(value), Some(remedy)) => {
                    Refusal::worded(format!("{name} where {key} is {value}: {remedy}"))
                        .kind(Kind::WrongValue)
                        .key(key)
                        .value(Some(value))
                        .remedy(remedy)
                }
                _ => refusal,
            }
        })?;
        let direction = name.rsplit('_').next().unwrap_or_default().to_lowercase();
        let family = pieces(&self.family)?.into_iter().map(|piece| piece.filled(&direction, test.size_bytes));
        Ok(TestRecord { family: family.collect(), name: name.to_owned(), parameters: test })
    }
}

/// A piece of a family.
enum Piece<'a> {
    Text(&'a str),
    Direction,
    /// The size, in at least that many digits, or blanks and digits.
    Size {
        width: usize,
        zeros: bool,
    },
}

impl Piece<'_> {
    fn filled(&self, direction: &str, size_bytes: u64) -> String {
        match self {
            Self::Text(text) => (*text).to_owned(),
            Self::Direction => direction.to_owned(),
            Self::Size { width, zeros: true } => format!("{size_bytes:0width$}"),
            Self::Size { width, zeros: false } => format!("{size_bytes:width$}"),
        }
    }
}

/// The pieces of a family, in which braces are doubled outside placeholders.
fn pieces(family: &str) -> Result<Vec<Piece<'_>>, Refusal> {
    let refused = |remedy: &str| Err(Refusal::of("family", quoted(family), remedy));
    let (mut found, mut rest) = (Vec::new(), family);
    while let Some(start) = rest.find(['{', '}']) {
        found.push(Piece::Text(&rest[..start]));
        let brace = &rest[start..=start];
        rest = &rest[start + 1..];
        if let Some(after) = rest.strip_prefix(brace) {
            found.push(Piece::Text(brace));
            rest = after;
            continue;
        }
        let Some((inner, after)) = rest.split_once('}').filter(|_| brace == "{") else {
            return refused("a brace stands alone: write {{ or }} for a brace, {size} for the size");
        };
        let (name, width) = inner.split_once(':').unwrap_or((inner, ""));
        found.push(match name {
            "direction" if width.is_empty() => Piece::Direction,
            "size" if is_width(width) => {
                Piece::Size { width: width.parse().unwrap_or_default(), zeros: width.starts_with('0') }
            }
            "direction" | "size" => {
                return refused("give a width of at most two digits, to sizes: {size:02}");
            }
            _ => return refused("only {direction} and {size} are placeholders"),
        });
        rest = after;
    }
    found.push(Piece::Text(rest));
    Ok(found)
}

/// Whether a format of a size is at most two digits, or those after a 0.
fn is_width(text: &str) -> bool {
    text.strip_prefix('0').unwrap_or(text).len() <= 2 && text.bytes().all(|letter| letter.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn every_parameter_that_can_vary_has_its_axis_and_list() {
        let generated = schemars::schema_for!(Test).to_value();
        let axes: Vec<String> = TransferGroup::AXES.iter().map(|axis| super::super::text_of(*axis)).collect();
        let lists = schemars::schema_for!(TransferGroup).to_value();
        for (key, parameter) in generated["properties"].as_object().unwrap() {
            let Some(axis) = parameter["x-axis"].as_str() else { continue };
            assert!(axes.iter().any(|known| known == axis), "{key}");
            let word = parameter["x-word"].as_str().unwrap();
            let list = if word.ends_with("ing") { word.to_owned() } else { format!("{word}s") };
            assert_ne!(lists["properties"][&list], Value::Null, "{list}");
        }
    }

    #[test]
    fn families_have_the_placeholders_of_the_published_files() {
        let filled = |family: &str| {
            let pieces = pieces(family).map_err(|refusal| refusal.to_string())?;
            Ok::<String, String>(pieces.iter().map(|piece| piece.filled("rd", 8)).collect())
        };
        assert_eq!(filled("f_{direction}_{size:02}").as_deref(), Ok("f_rd_08"));
        assert_eq!(filled("{{{size}}}{size:3}é{direction:}").as_deref(), Ok("{8}  8érd"));
        for wrong in
            ["{", "a}", "{size", "{path}", "{}", "{size:100}", "{size!r}", "{direction:2}", "{size:{size}}"]
        {
            assert!(filled(wrong).is_err(), "{wrong}");
        }
    }
}
