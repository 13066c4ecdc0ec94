//! Efficiency of a link: bytes of TLPs for writes and reads of some sizes.
//!
//!     cargo run -p pcie-wire --example efficiency

use pcie_wire::{CompletionPolicy, LinkConfiguration, LinkParameters, SplitAt, TlpKind};

fn main() -> Result<(), pcie_refusal::Refusal> {
    let link = LinkConfiguration::try_from(LinkParameters::new(3, 8, 256, 512))?;
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
        println!("{size:5} B: a write takes {written} B on the link, the completions of a read {answered} B");
    }
    Ok(())
}

#[test]
fn it_runs() -> Result<(), pcie_refusal::Refusal> {
    main()
}
