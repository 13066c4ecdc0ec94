//! What a device is bound for.

use serde::{Deserialize, Serialize};

/// What a device is made ready for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// DMA, through vfio-pci.
    Vfio,
    /// Stores into its BARs, without a driver.
    Stores,
}
