//! Routable PCIe fabrics: hosts, adapters, switches and devices in a tree, and what each flow through it gets.
//!
//! Two estimators answer in closed form ([`estimate`]); the event-driven simulator answers TLP by TLP
//! ([`simulate`]); programs use it through the primitives of [`runtime`]. It does not know about files, stores or reports.
//!
//! Source: Hou, Zhang, Wang, Liu, "Understanding Routable PCIe Performance for Composable Infrastructures", NSDI 2024
//! ("the rPCIeBench paper" below), whose published code holds neither its profiler nor its estimator.
//!
//! Bandwidths are payload bytes per nanosecond, which is GB/s: capacities of links are as measured with payload, so that
//! what headers and DLLPs take is already off.

mod description;
pub mod estimate;
mod flows;
pub mod runtime;
pub mod simulate;
#[cfg(test)]
mod test_fabrics;
mod topology;

pub use description::{
    BarParameters, DeviceParameters, EngineParameters, FabricParameters, HostParameters, LinkParameters,
    MemoryParameters, NodeKind, NodeParameters, PaceParameters,
};
pub use flows::Flows;
pub use topology::{EdgeId, NodeId, Topology};
