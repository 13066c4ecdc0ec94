//! What the medium holds for the blocks of a test.
//!
//! A drive answers reads of deallocated blocks from its map of blocks, without its medium, so the latency is
//! that of the command and the transfer. pcielab deallocates or writes scratch blocks only: any other block
//! stays as it is, and whether it was ever written is unknown.

use super::options::ScratchBlocks;
use super::scratch::Scratch;
use pcie_driver::nvme::{DeallocatedReads, Identity};
use pcie_refusal::Refusal;

/// State of the blocks of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockState {
    /// As they were found.
    Found,
    /// Deallocated by the run.
    Deallocated,
    /// Written with zeros by the run.
    Written,
}

impl BlockState {
    /// The state that the options ask for; without a wish, the best that drive and scratch range allow.
    pub(super) fn chosen(
        asked: Option<ScratchBlocks>,
        drive: &Identity,
        scratch: Option<&Scratch>,
    ) -> Result<Self, Refusal> {
        let (value, wanted) = match asked {
            None if scratch.is_some() && obstacle(drive).is_none() => return Ok(Self::Deallocated),
            None => return Ok(Self::Found),
            Some(ScratchBlocks::Deallocated) => ("deallocated", Self::Deallocated),
            Some(ScratchBlocks::Written) => ("written", Self::Written),
        };
        if scratch.is_none() {
            let remedy = "name blocks that may be written, --set device.scratch=LBA+LENGTH";
            return Err(refused(value, "pcielab changes no block outside a scratch range", remedy));
        }
        match obstacle(drive).filter(|_| wanted == Self::Deallocated) {
            Some(problem) => Err(refused(value, problem, "give written, or leave the option out")),
            None => Ok(wanted),
        }
    }

    /// 1 if the blocks are deallocated, 0 if they are written, none if that is unknown.
    pub(super) fn deallocated(self) -> Option<f64> {
        match self {
            Self::Found => None,
            Self::Deallocated => Some(1.0),
            Self::Written => Some(0.0),
        }
    }
}

/// Why a drive's blocks cannot be deallocated, if so: a scratch range must go on reading as zeros.
fn obstacle(drive: &Identity) -> Option<&'static str> {
    if !drive.has_deallocate {
        return Some("this drive has no Dataset Management command, which deallocates blocks");
    }
    match drive.deallocated_reads {
        DeallocatedReads::Zeros => None,
        DeallocatedReads::Ones => {
            Some("deallocated blocks of this drive read as ones, and scratch blocks must read as zeros")
        }
        DeallocatedReads::NotReported => {
            Some("this drive does not report what its deallocated blocks read as (DLFEAT)")
        }
    }
}

fn refused(value: &str, problem: &str, remedy: &str) -> Refusal {
    Refusal::of("device.blocks", value, remedy).problem(problem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use DeallocatedReads::{NotReported, Ones, Zeros};
    use ScratchBlocks::{Deallocated, Written};

    const SCRATCH: Scratch = Scratch { first: 8192, blocks: 2048 };

    fn drive(has_deallocate: bool, deallocated_reads: DeallocatedReads) -> Identity {
        Identity { has_deallocate, deallocated_reads, ..Identity::default() }
    }

    fn chosen(asked: Option<ScratchBlocks>, drive: &Identity) -> Result<BlockState, String> {
        BlockState::chosen(asked, drive, Some(&SCRATCH)).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn scratch_blocks_are_deallocated_where_they_go_on_reading_as_zeros() {
        assert_eq!(chosen(None, &drive(true, Zeros)), Ok(BlockState::Deallocated));
        for lacking in [drive(true, Ones), drive(true, NotReported), drive(false, Zeros)] {
            assert_eq!(chosen(None, &lacking), Ok(BlockState::Found));
            assert_eq!(chosen(Some(Written), &lacking), Ok(BlockState::Written));
        }
    }

    #[test]
    fn no_block_outside_a_scratch_range_is_changed() {
        let able = drive(true, Zeros);
        assert_eq!(BlockState::chosen(None, &able, None), Ok(BlockState::Found));
        for (asked, value) in [(Deallocated, "deallocated"), (Written, "written")] {
            let error = BlockState::chosen(Some(asked), &able, None).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("device.blocks is {value}: pcielab changes no block")),
                "{error}"
            );
            assert!(error.contains("device.scratch=LBA+LENGTH"), "{error}");
        }
    }

    #[test]
    fn deallocation_is_refused_where_the_drive_lacks_it() {
        for (lacking, named) in [
            (drive(false, Zeros), "no Dataset Management"),
            (drive(true, Ones), "read as ones"),
            (drive(true, NotReported), "does not report"),
        ] {
            let error = chosen(Some(Deallocated), &lacking).unwrap_err();
            assert!(error.contains(named) && error.contains("give written"), "{error}");
        }
    }
}
