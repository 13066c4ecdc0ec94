//! Where the numbers of a store come from.

/// Origin of the numbers of a store; every figure and export shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Taken on real hardware.
    Measured,
    /// From the simulator.
    Simulated,
    /// From real software on emulated hardware.
    Emulated,
    /// From a simulation of the register-transfer-level core.
    Rtl,
    /// From the closed-form model.
    Modelled,
}

impl Origin {
    #[cfg(not(target_family = "wasm"))]
    pub(crate) const ALL: [Self; 5] =
        [Self::Measured, Self::Simulated, Self::Emulated, Self::Rtl, Self::Modelled];

    /// Its word in the manifest.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Simulated => "simulated",
            Self::Emulated => "emulated",
            Self::Rtl => "rtl",
            Self::Modelled => "modelled",
        }
    }
}
