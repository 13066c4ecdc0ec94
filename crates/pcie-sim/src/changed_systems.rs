//! Whatever a system holds, reading and checking it ends in a system or in a refusal.

use pcie_changed::{changed, is_printable};
use pcie_schema::Fitting as _;
use proptest::prelude::*;

use crate::Machine;
use crate::profile::System;

fn seed(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

proptest! {
    #[test]
    fn changed_systems_are_accepted_or_refused(
        system in prop_oneof![
            changed(&seed(include_str!("../tests/fixtures/e3.json"))),
            changed(&seed(include_str!("../tests/fixtures/clx-6234.json"))),
        ],
    ) {
        let checked = System::read(system).and_then(|system| Machine::check(&system).map(|()| system));
        match checked {
            Ok(system) => {
                let written = serde_json::to_value(&system).unwrap();
                prop_assert_eq!(System::read(written).unwrap(), system);
            }
            Err(refused) => {
                prop_assert!(refused.key.is_some(), "{}", refused);
                prop_assert!(is_printable(&refused.to_string()), "{}", refused);
            }
        }
    }
}
