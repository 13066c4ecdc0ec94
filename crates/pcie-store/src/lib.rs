//! The store: one SQLite file per run, written as the run goes on, so that a killed run loses at most the test in
//! flight.
//!
//! This crate creates stores, appends finished tests and attachments to them, and reopens them to go on with a run.
//! It does not interpret what it stores, and it does not read results back: everything people look at is made from
//! the file by other means, as `docs/reference/store.md`, the contract for the schema, describes it.

mod error;
mod file;
mod manifest;
mod record;
mod schema;
mod store;

pub use error::{Error, Result};
pub use manifest::{Manifest, Origin};
pub use record::{Distribution, Scalar, Series, Status, TestRecord};
pub use schema::{APPLICATION_ID, SCHEMA_VERSION};
pub use store::{Resumed, Store};
