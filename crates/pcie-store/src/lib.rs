//! The store: one SQLite file per run, written test by test: a killed run loses at most one test.
//!
//! This crate creates stores, appends finished tests and attachments, reopens stores to resume a run, and
//! reads them back, checked against their digests and the table of metrics.
//! `docs/reference/store.md` is the contract of the file. A browser has no files: on WebAssembly there are only
//! the types of a finished test.

#[cfg(not(target_family = "wasm"))]
mod captured;
#[cfg(not(target_family = "wasm"))]
mod damage;
#[cfg(not(target_family = "wasm"))]
mod digest;
#[cfg(not(target_family = "wasm"))]
mod error;
#[cfg(not(target_family = "wasm"))]
mod file;
#[cfg(not(target_family = "wasm"))]
mod guard;
#[cfg(not(target_family = "wasm"))]
mod manifest;
#[cfg(not(target_family = "wasm"))]
mod metrics;
#[cfg(not(target_family = "wasm"))]
mod numbers;
mod origin;
#[cfg(not(target_family = "wasm"))]
mod read;
mod record;
#[cfg(not(target_family = "wasm"))]
mod schema;
#[cfg(not(target_family = "wasm"))]
mod store;

#[cfg(not(target_family = "wasm"))]
pub use captured::{captured, ports};
#[cfg(not(target_family = "wasm"))]
pub use damage::Damage;
#[cfg(not(target_family = "wasm"))]
pub use error::{Error, Result};
#[cfg(not(target_family = "wasm"))]
pub use file::{accept, is_store};
#[cfg(not(target_family = "wasm"))]
pub use guard::Stop;
#[cfg(not(target_family = "wasm"))]
pub use manifest::Manifest;
#[cfg(not(target_family = "wasm"))]
pub use metrics::{Kind, LEAST_MAGNITUDE, Metrics, Quantity, Table, metrics};
pub use origin::Origin;
#[cfg(not(target_family = "wasm"))]
pub use read::{Contents, read, read_manifest, read_manifest_until, read_until};
pub use record::{Distribution, Scalar, Series, Status, TestRecord};
#[cfg(not(target_family = "wasm"))]
pub use schema::{APPLICATION_ID, OLDEST_SCHEMA_VERSION, SCHEMA_VERSION, TRACED_SCHEMA_VERSION};
#[cfg(not(target_family = "wasm"))]
pub use store::{Resumed, Store};
