//! Options of stores into a BAR, and of their host.

use serde::{Deserialize, Serialize};

/// Options of stores into a BAR.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PioOptions {
    /// The part of a BAR that may be stored into, `BAR2:0+64K`. There is no default.
    pub range: Option<String>,
}

/// Options of the host of stores.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PioHostOptions {
    /// Core that stores; null is the first allowed one on the device's NUMA node.
    pub core: Option<u32>,
}
