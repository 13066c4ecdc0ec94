//! Quantities that many fields share, each with its range: `#[schemars(with = "StepTime")]` on a field.
//!
//! The field itself is a plain number; the unit is the last word of its key.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;

/// Declares quantities: name, documentation, the JSON Schema of a value.
macro_rules! quantities {
    ($(#[doc = $meaning:literal] $name:ident: $schema:tt;)*) => {
        $(#[doc = $meaning]
        pub struct $name;

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let mut schema = json_schema!($schema);
                schema.insert("x-quantity".to_owned(), stringify!($name).into());
                schema
            }
        })*

        /// The schemas of all quantities with their descriptions, by name.
        #[must_use]
        pub fn all() -> Vec<(&'static str, Schema)> {
            let mut generator = SchemaGenerator::default();
            let mut described = Vec::new();
            $(
                let mut schema = $name::json_schema(&mut generator);
                schema.insert("description".to_owned(), $meaning.trim().into());
                described.push((stringify!($name), schema));
            )*
            described
        }
    };
}

/// Largest 32-bit count.
const COUNT_MOST: u32 = u32::MAX;
/// Largest whole number in files and databases.
const WHOLE_MOST: i64 = i64::MAX;

quantities! {
    /// Duration of a step of a transaction, ns: bounded so that sums stay exact in the simulator's integers.
    StepTime: {"type": "number", "minimum": 0, "maximum": 1e5};
    /// A pause between transactions, or a time of idle states, ns: at most a second.
    Nanoseconds: {"type": "number", "minimum": 0, "maximum": 1e9};
    /// A duration above zero, ns: at most a second.
    Duration: {"type": "number", "exclusiveMinimum": 0, "maximum": 1e9};
    /// A share of a whole.
    Share: {"type": "number", "minimum": 0, "maximum": 1};
    /// A count of at least one.
    Count: {"type": "integer", "minimum": 1, "maximum": COUNT_MOST};
    /// Bytes of padding that a port adds.
    Padding: {"type": "integer", "minimum": 0, "maximum": 4096};
    /// Bytes of a unit in which a port sends.
    Quantum: {"type": "integer", "minimum": 1, "maximum": 4096};
    /// A processor socket, counted from 0.
    Socket: {"type": "integer", "minimum": 0, "maximum": 63};
    /// A bus address of a page.
    Address: {"type": "integer", "minimum": 0, "maximum": WHOLE_MOST, "multipleOf": 4096};
    /// Bytes.
    Size: {"type": "integer", "minimum": 1, "maximum": WHOLE_MOST};
    /// Bytes, or 0.
    SizeOrNone: {"type": "integer", "minimum": 0, "maximum": WHOLE_MOST};
    /// Bytes, in 32 bits.
    Size32: {"type": "integer", "minimum": 1, "maximum": COUNT_MOST};
    /// Header credits that a receiver advertises.
    HeaderCredits: {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 1 << 16}, {"const": "infinite"}]};
    /// Data credits (16 B each) that a receiver advertises.
    DataCredits: {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 1 << 20}, {"const": "infinite"}]};
    /// Probability that what a link carries arrives damaged.
    ErrorRate: {"anyOf": [{"type": "number", "minimum": 0, "maximum": 0.5}, {"const": "specification"}]};
}
