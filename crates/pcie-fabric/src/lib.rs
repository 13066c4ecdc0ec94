//! Routable PCIe fabrics: a tree of hosts, adapters, switches and devices, and the bandwidth of flows through
//! it.
//!
//! Two estimators answer in closed form ([`estimate`]), the event-driven simulator TLP by TLP ([`simulate`]).
//! Programs use the fabric through the primitives of [`runtime`].
//!
//! Source: Hou, Zhang, Wang, Liu, "Understanding Routable PCIe Performance for Composable Infrastructures",
//! NSDI 2024 ("the rPCIeBench paper"), whose published code contains neither its profiler nor its estimator.
//!
//! Bandwidths are payload bytes per nanosecond, which is GB/s. Capacities of links are payload, too, without
//! headers and DLLPs.

#[cfg(test)]
mod changed_fabrics;
mod description;
pub mod estimate;
mod extra_edges;
mod flows;
pub mod runtime;
pub mod simulate;
#[cfg(test)]
mod test_fabrics;
mod topology;

pub use description::{
    BarParameters, DeviceParameters, EngineParameters, FabricParameters, HostParameters, LimitParameters,
    LinkParameters, MemoryParameters, NodeKind, NodeParameters, PaceParameters, PeersParameters,
    WayParameters,
};
pub use flows::Flows;
pub use topology::{EdgeId, NodeId, Topology};
