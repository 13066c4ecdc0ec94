//! Whatever a fabric's description holds, reading it ends in a topology or in a refusal.

use pcie_changed::{changed, is_printable};
use pcie_refusal::Refusal;
use proptest::prelude::*;

use crate::{FabricParameters, Topology};

proptest! {
    #[test]
    fn changed_fabrics_are_accepted_or_refused(
        fabric in changed(&serde_json::from_str(include_str!("fixtures/fabrex-u55c.json")).unwrap()),
    ) {
        let read = serde_json::from_value::<FabricParameters>(fabric).map_err(Refusal::new);
        match read.and_then(Topology::new) {
            Ok(topology) => prop_assert!(topology.capacities().iter().all(|capacity| *capacity > 0.0)),
            Err(refused) => prop_assert!(is_printable(&refused.to_string()), "{}", refused),
        }
    }
}
