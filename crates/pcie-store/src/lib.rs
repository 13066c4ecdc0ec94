//! The store: one SQLite file per run, written test by test: a killed run loses at most one test.
//!
//! This crate creates stores, appends finished tests and attachments, reopens stores to resume a run, and
//! reads them back, checked against their digests. It does not interpret the contents.
//! `docs/reference/store.md` is the contract of the file.

mod damage;
mod digest;
mod error;
mod file;
mod guard;
mod manifest;
mod read;
mod record;
mod schema;
mod store;

pub use damage::Damage;
pub use error::{Error, Result};
pub use file::{accept, is_store};
pub use guard::Stop;
pub use manifest::{Manifest, Origin};
pub use read::{Contents, read, read_manifest, read_manifest_until, read_until};
pub use record::{Distribution, Scalar, Series, Status, TestRecord};
pub use schema::{APPLICATION_ID, OLDEST_SCHEMA_VERSION, SCHEMA_VERSION};
pub use store::{Resumed, Store};
