//! The bound of DMA by size on a Gen3 x8 link, for a device with 32 tags and a round trip of 900 ns.
//!
//!     cargo run -p pcie-model --example what_binds

use pcie_model::{Limits, Model};
use pcie_refusal::Refusal;
use pcie_wire::{Accounting, LinkConfiguration, LinkParameters};

fn main() -> Result<(), Refusal> {
    let link = LinkConfiguration::try_from(LinkParameters {
        generation: 3,
        lanes: 8,
        mps_bytes: 256,
        mrrs_bytes: 512,
        rcb_bytes: 64,
        address_bits: 64,
        ecrc: false,
        completion_ecrc: None,
        flit_mode: None,
        ide_tlps: None,
    })?;
    let limits = Limits { tags: Some(32), round_trip_ns: Some(900.0), ..Limits::default() };
    let model = Model::new(link, Accounting::Spec, limits)?;
    for size in [64, 256, 1024] {
        let found = model.bandwidth(size, 0)?;
        println!(
            "{size:5} B: reads {:5.1} Gb/s ({:?} binds), writes {:5.1} Gb/s ({:?} binds)",
            found.read.gbps, found.read.bound, found.write.gbps, found.write.bound
        );
    }
    Ok(())
}

#[test]
fn it_runs() -> Result<(), Refusal> {
    main()
}
