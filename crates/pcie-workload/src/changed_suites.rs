//! Whatever a suite holds, reading it ends in a suite that can be run or in a refusal.

use pcie_changed::{changed, is_printable};
use pcie_refusal::Refusal;
use pcie_schema::Fitting as _;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{MessageSuite, Suite};

fn suite(test: Value) -> Value {
    json!({"name": "mine", "title": "Mine", "tests": [{"family": "f", "name": "n", "parameters": test}]})
}

fn transfers() -> Value {
    suite(json!({
        "cache": "cold", "details": false, "device_offset_bytes": 0, "host_offset_bytes": 0, "operation": "lat-rd",
        "outstanding": null, "path": "dma", "pattern": "random", "size_bytes": 64, "stride_units": 1,
        "transactions": 1000, "window_bytes": 8192,
    }))
}

fn messages() -> Value {
    let connections = r#"[{"name": "a", "pace": "alone", "sizes": [64], "stores_up_to_bytes": null}]"#;
    suite(json!({
        "connections": connections, "cores": 1, "eviction": null, "generation": null, "lanes": null, "messages": 100,
        "pace": "stream", "pressure": null, "sharing": "own-queues", "size_bytes": 64, "store_bytes": null,
        "store_kind": null, "stores_up_to_bytes": 64, "way": "mux",
    }))
}

#[test]
fn the_unchanged_suites_are_accepted() {
    assert_eq!(Suite::read(transfers()).unwrap().validate(), Ok(()));
    assert_eq!(serde_json::from_value::<MessageSuite>(messages()).unwrap().validate(), Ok(()));
}

proptest! {
    #[test]
    fn changed_suites_are_accepted_or_refused(suite in changed(&transfers())) {
        let checked = Suite::read(suite).and_then(|suite| suite.validate().map(|()| suite));
        match checked {
            Ok(suite) => for test in &suite.tests {
                let test = &test.parameters;
                prop_assert!(test.window_bytes >= test.size_bytes && test.transactions > 0, "{:?}", test);
            },
            Err(refused) => prop_assert!(is_printable(&refused.to_string()), "{}", refused),
        }
    }

    #[test]
    fn changed_suites_of_messages_are_accepted_or_refused(suite in changed(&messages())) {
        let read = serde_json::from_value::<MessageSuite>(suite).map_err(Refusal::new);
        match read.and_then(|suite| suite.validate().map(|()| suite)) {
            Ok(suite) => for test in &suite.tests {
                let kept = u64::from(test.parameters.cores) * u64::from(test.parameters.messages);
                prop_assert!((1..=1 << 18).contains(&kept), "{:?}", test);
            },
            Err(refused) => prop_assert!(is_printable(&refused.to_string()), "{}", refused),
        }
    }
}
