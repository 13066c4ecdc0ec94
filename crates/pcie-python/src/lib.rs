//! The Python extension module `pcielab._core`, which only converts between Python values and the crates.
//! Their documentation describes the functions.

use pyo3::pymodule;

mod backend;
mod bounds;
mod capture;
mod describe;
mod error;
mod experiments;
mod fabric;
mod fabric_runtime;
mod fabrics;
#[cfg(target_os = "linux")]
mod host;
mod json;
mod machine;
mod machines;
mod model;
mod output;
mod page;
mod port;
mod prediction;
mod progress;
mod python_device;
mod quantities;
mod run;
mod schemas;
#[cfg(target_os = "linux")]
mod simbricks;
mod single;
mod statistics;
mod stop;
mod store;
mod suites;
mod trace;
mod vfio;
mod why;
mod words;

/// The compiled half of pcielab.
#[pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::backend::{Backend, address_offsets};
    #[pymodule_export]
    use super::bounds::{model_host, test_bounds};
    #[pymodule_export]
    use super::capture::{capture_convert, capture_explain, capture_list, capture_record, capture_trace};
    #[pymodule_export]
    use super::describe::{
        System, complete_part, profile_schema, read_profile, replaced, typed, typed_changes,
    };
    #[pymodule_export]
    use super::fabric::{
        FabricInfluences, FabricRun, FabricShares, edge_shares, equal_edge_share, fabric_check_traffic,
        fabric_estimate, fabric_rounds, fabric_simulate,
    };
    #[pymodule_export]
    use super::fabric_runtime::{FabricRuntime, FabricTrace, FabricWaiting};
    #[pymodule_export]
    use super::fabrics::{Fabric, flow_columns};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::host::RealHost;
    #[pymodule_export]
    use super::machine::{
        describe_examination, describe_finding, doctor_rules, draw_machine, examine_machine,
        machine_branches, machine_changes, machine_topology, read_machine, read_sysfs, saved_machine,
    };
    #[pymodule_export]
    use super::machines::{described_machine, expanded_names};
    #[pymodule_export]
    use super::model::{
        ethernet_link, ethernet_need, ethernet_suiting, low_share, model_bandwidth, model_engine,
        model_expander, model_interleaved, model_link_sizing, model_loopback, model_message_crossings,
        model_messages, model_mmio, model_nic, model_sizing, simulate_mmio,
    };
    #[pymodule_export]
    use super::output::{check_file, check_folder, check_name, compressed, write_file, write_folder};
    #[pymodule_export]
    use super::page::ask_page;
    #[pymodule_export]
    use super::port::HostPort;
    #[pymodule_export]
    use super::prediction::Predictor;
    #[pymodule_export]
    use super::quantities::{
        Tunnel, Width, generation_of, raw_gbps, read_counts, read_link, read_number, read_quantity,
        read_size, read_sizes, read_tunnel, read_whole, read_width,
    };
    #[pymodule_export]
    use super::run::{check_test, run_alone, run_work};
    #[pymodule_export]
    use super::schemas::{remedy, schemas};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::simbricks::simbricks;
    #[pymodule_export]
    use super::single::{Bar, Core, Engine, Expander, Messages, Nic};
    #[pymodule_export]
    use super::statistics::nearest_rank;
    #[pymodule_export]
    use super::stop::Stop;
    #[pymodule_export]
    use super::store::{
        StoreContents, StoreWriter, check_new_store, damaged_tests, read_manifest, read_store, store_metrics,
    };
    #[pymodule_export]
    use super::suites::Suite;
    #[pymodule_export]
    use super::trace::{trace_convert, trace_play, trace_read, trace_record};
    #[pymodule_export]
    use super::vfio::{bind_device, list_devices, release_device, survey_device};
    #[pymodule_export]
    use super::why::{
        borrowed_sentences, check_measured, explained_differences, keys_of_bounds, link_changes,
        packets_above_stated, reasons_of_test, stated_packets, test_in_words, why_nic, why_nic_on_link,
        why_store, why_test, why_two, why_words,
    };
    #[pymodule_export]
    use super::words::{alike, closest, suggestion, with_most_parts, with_parts};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("INFLUENCE_SHARES_MOST", super::fabric::INFLUENCE_SHARES_MOST)?;
        module.add("MEASURED_RANGE", pcie_why::MEASURED_RANGE)?;
        module.add("INSIDE_GBYTES_PER_S", pcie_describe::INSIDE_GBYTES_PER_S)?;
        super::quantities::register(module)?;
        super::schemas::register(module)?;
        super::page::register(module)?;
        super::error::register(module)
    }
}
