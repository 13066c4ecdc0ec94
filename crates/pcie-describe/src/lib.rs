//! The reader of descriptions: files of systems and their parts, NICs, engines and messages, over their bases, with
//! `[set]` and `--set`; fabrics with their flows; suites.
//!
//! A description is merged into one table, checked once, with every problem blamed on the file that gave the value,
//! and handed out complete. Files are not opened here: a caller gives their texts.

mod blame;
mod changes;
mod documents;
mod fabrics;
mod files;
mod flows;
mod machines;
mod merged;
mod provenance;
mod shipped;
mod single;
mod suites;
mod system;
mod value;

pub use changes::{
    change, changed_title, known_keys, meanings, replaced, set_text, typed, typed_changes, typed_values,
};
pub use documents::{File, file_schema, read_file, read_part, system_schema};
pub use fabrics::{
    DevicePreset, FabricFile, HostPreset, INSIDE_GBYTES_PER_S, Presets, device_preset_schema, fabric_keys,
    fabric_schema, read_device_preset, read_fabric,
};
pub use files::{Files, Kind, Layer, PARTS, Stack, with_bases, without_folder};
pub use flows::{Column, flow_columns, flow_names};
pub use machines::{MachineFile, expanded_names, read_machine};
pub use merged::{Merged, Source, resolve, values_of};
pub use provenance::{FittedTo, Provenance, Unmeasured};
pub use shipped::Shipped;
pub use single::{InFile, Single, read_bar, read_core, read_engine, read_expander, read_messages, read_nic};
pub use suites::{Suite, SuiteKind};
pub use system::{Description, changed, read_system, recorded};
pub use value::{Table, Value, parse_toml, read_table};
