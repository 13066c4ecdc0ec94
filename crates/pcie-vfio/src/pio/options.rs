//! What stores into a BAR, and their host's side, can be told.

use serde::{Deserialize, Serialize};

/// What stores into a BAR can be told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PioOptions {
    /// Which part of which BAR may be stored into, `BAR2:0+64K`. There is no default.
    pub range: Option<String>,
}

/// The host's side of stores.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PioHostOptions {
    /// Core that stores; null for the first that this program may run on.
    pub core: Option<u32>,
}
