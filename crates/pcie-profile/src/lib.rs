//! Files of systems, merged: a file over its bases, the parts that it names, `[set]` and `--set`.
//!
//! The result is one table with every key, and the file of each part. Its values are not checked here; `pcie-sim`
//! and, with the names of files, Python do that. Neither are files opened here: a caller gives their tables.

mod changes;
mod files;
mod merged;
mod sizes;
mod value;

pub use changes::{change, known_keys, replaced, typed, typed_changes, typed_values};
pub use files::{Files, Kind, Layer, PARTS, with_bases, without_folder};
pub use merged::{Merged, System, resolve, values_of};
pub use sizes::with_sizes;
pub use value::{Leaf, Table, Value, parse_toml};
