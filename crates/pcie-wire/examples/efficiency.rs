//! What a link leaves to payload: bytes of TLPs for a write and a read of some sizes.
//!
//!     cargo run -p pcie-wire --example efficiency

use pcie_wire::{CompletionPolicy, LinkConfiguration, LinkParameters, SplitAt, TlpKind};

fn main() -> Result<(), pcie_refusal::Refusal> {
    let link = LinkConfiguration::try_from(LinkParameters {
        generation: 3,
        lanes: 8,
        mps_bytes: 256,
        mrrs_bytes: 512,
        rcb_bytes: 64,
        address_bits: 64,
        ecrc: false,
        flit_mode: None,
    })?;
    println!("Gen3 x8: {:.2} Gb/s before TLPs", link.raw_gbps());
    for size in [64, 256, 1024, 4096] {
        let written: u32 = link
            .writes(0, size, SplitAt::TransferSize)
            .map(|piece| link.tlp_bytes(TlpKind::MemoryWrite, piece))
            .sum();
        let answered: u32 = link
            .read_requests(0, size, SplitAt::TransferSize)
            .flat_map(|request| link.completions(request, CompletionPolicy::AsLargeAsMps))
            .map(|piece| link.tlp_bytes(TlpKind::CompletionWithData, piece))
            .sum();
        println!("{size:5} B: a write takes {written} B of the link, the answer to a read {answered} B");
    }
    Ok(())
}

#[test]
fn it_runs() -> Result<(), pcie_refusal::Refusal> {
    main()
}
