//! Rates in closed form of a NIC with its features, of an engine, of a memory expander, and of loads and stores of a core: shipped ones, or from the text of a file.

use pcie_model::mmio::{Access, AccessTimes, Mmio};
use pcie_model::{EngineRates, Ethernet, ExpanderRates, Limits, Model, ModelParameters, NicThroughput};
use pcie_refusal::Refusal;
use pcie_wire::{Accounting, LinkConfiguration, LinkParameters};
use serde::Deserialize;

use crate::described::Described;

/// A NIC, and frames on its line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NicAsked {
    nic: Described,
    link: LinkParameters,
    ethernet: Ethernet,
    frames_bytes: Vec<u64>,
}

/// An engine, and its commands.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EngineAsked {
    engine: Described,
    /// Its link; absent: the engine's usual one.
    link: Option<LinkParameters>,
    sizes_bytes: Vec<u64>,
    /// Commands in flight; absent: the engine's usual number.
    depth: Option<u32>,
}

/// A memory expander, and mixes of reads and writes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpanderAsked {
    expander: Described,
    /// Shares of the lines that are read.
    read_shares: Vec<f64>,
    /// Shares of the peak at which to tell how long a read takes.
    loads: Vec<f64>,
}

/// A core and a BAR, the link between them, and accesses.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AccessesAsked {
    core: Described,
    bar: Described,
    link: LinkParameters,
    accesses: Vec<Access>,
}

/// The rates of a NIC with frames of each size.
pub(crate) fn nic(asked: &NicAsked) -> Result<Vec<NicThroughput>, Refusal> {
    let nic = asked.nic.nic()?.content;
    let (accounting, limits) = (Accounting::Spec, Limits::default());
    let model = Model::try_from(ModelParameters { link: asked.link, accounting, limits })?;
    let rates = |&bytes: &u64| model.nic(&nic.for_frames(Some(bytes)), asked.ethernet, bytes);
    asked.frames_bytes.iter().map(rates).collect()
}

/// The rates of an engine with commands of each size.
pub(crate) fn engine(asked: &EngineAsked) -> Result<Vec<EngineRates>, Refusal> {
    let engine = asked.engine.engine()?;
    let link = asked.link.unwrap_or_else(|| engine.usual_link());
    asked.sizes_bytes.iter().map(|&size_bytes| engine.rates(size_bytes, link, asked.depth)).collect()
}

/// The rates of an expander with each mix.
pub(crate) fn expander(asked: &ExpanderAsked) -> Result<Vec<ExpanderRates>, Refusal> {
    let expander = asked.expander.expander()?;
    asked.read_shares.iter().map(|&share| expander.rates(share, &asked.loads)).collect()
}

/// What accesses of each kind cost.
pub(crate) fn accesses(asked: &AccessesAsked) -> Result<Vec<AccessTimes>, Refusal> {
    let link = LinkConfiguration::try_from(asked.link).map_err(|refusal| refusal.below("link"))?;
    let mmio = Mmio::new(asked.core.core()?, asked.bar.bar()?, link)?;
    asked.accesses.iter().map(|access| mmio.times(access)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::ask;

    const CONNECTX: &str = include_str!("../../../profiles/nics/connectx-5.toml");
    const GPU: &str = include_str!("../../../profiles/engines/gpu.toml");

    fn shipped(kind: &str, name: &str, text: &str) -> Value {
        json!({kind: {name: toml::from_str::<Value>(text).unwrap()}})
    }

    fn rows(name: &str, asked: &Value) -> Result<Vec<Value>, String> {
        let found = ask(name, &asked.to_string()).map_err(|refusal| refusal.to_string())?;
        Ok(serde_json::from_str(&found).unwrap())
    }

    fn frames(name: &str, text: Option<&str>, changes: &Value) -> Result<Vec<Value>, String> {
        let nic = json!({"name": name, "text": text, "changes": changes,
                         "shipped": shipped("nic", "connectx-5", CONNECTX)});
        let link = json!({"generation": 3, "lanes": 16, "mps_bytes": 256, "mrrs_bytes": 512});
        rows("nic", &json!({"nic": nic, "link": link, "ethernet": {}, "frames_bytes": [64, 1500]}))
    }

    #[test]
    fn features_and_changes_of_a_nic_change_its_rates() {
        let millions = |rows: &[Value]| rows[0]["rx"]["millions_per_s"].as_f64().unwrap();
        let plain = frames("connectx-5", None, &json!({})).unwrap();
        let mprq = frames("connectx-5+mprq", None, &json!({})).unwrap();
        assert!(millions(&mprq) > millions(&plain));
        let own = "name = \"mine\"\ndescription = \"mine\"\nprovenance = \"mine\"\nbase = \"connectx-5\"";
        assert_eq!(frames("mine.toml+mprq", Some(own), &json!({})).unwrap(), mprq);
        let batched = frames("connectx-5", None, &json!({"step.6.batch": 8})).unwrap();
        assert!(millions(&batched) > millions(&plain));
    }

    #[test]
    fn a_wrong_nic_or_change_is_named() {
        let own = "name = \"mine\"\ndescription = \"mine\"\nprovenance = \"mine\"\nbase = \"connectx-5\"\n";
        for (name, text, changes, words) in [
            ("connectx-5+fast", None, json!({}), "connectx-5: has no feature fast: "),
            ("connectx", None, json!({}), "no nic profile is named 'connectx': did you mean connectx-5?"),
            (
                "mine.toml",
                Some(format!("{own}[queues]\npairs = 0")),
                json!({}),
                "mine.toml: queues.pairs is 0: ",
            ),
            ("mine.toml", Some(own.to_owned()), json!({"queues.pairs": 0}), "--set: queues.pairs is 0: "),
            (
                "connectx-5",
                None,
                json!({"queues.pair": 1}),
                "--set nic.queues.pair: unknown key: did you mean pairs?",
            ),
        ] {
            let message = frames(name, text.as_deref(), &changes).unwrap_err();
            assert!(message.starts_with(words), "{message}");
        }
    }

    #[test]
    fn an_expander_has_the_rates_of_the_closed_form() {
        const SHIPPED: &str = include_str!("../../../profiles/expanders/cxl2-ddr5-5600.toml");
        let of = |changes: Value| {
            let shipped = shipped("expander", "cxl2-ddr5-5600", SHIPPED);
            let expander = json!({"name": "cxl2-ddr5-5600", "shipped": shipped, "changes": changes});
            rows("expander", &json!({"expander": expander, "read_shares": [1.0, 0.5], "loads": [0.5]}))
        };
        let peak = |rows: &[Value]| rows[0]["peak_gbytes_per_s"].as_f64().unwrap();
        let found = of(json!({})).unwrap();
        assert_eq!((found.len(), &found[0]["bound"]), (2, &json!("slots-from-memory")));
        let half = of(json!({"link.lanes": 4})).unwrap();
        assert!((peak(&half) - 0.5 * peak(&found)).abs() < 1e-12);
        let message = of(json!({"link.lane": 4})).unwrap_err();
        assert!(
            message.starts_with("--set expander.link.lane: unknown key: did you mean lanes?"),
            "{message}"
        );
    }

    #[test]
    fn accesses_cost_what_their_closed_form_says() {
        const CORE: &str = include_str!("../../../profiles/cores/sapphire-rapids-2023.toml");
        const BAR: &str = include_str!("../../../profiles/bars/gpu.toml");
        let of = |core: &str, lanes: u32, instruction: &str, size_bytes: u64, cores: u32| {
            let access = json!({"instruction": instruction, "size_bytes": size_bytes, "width_bytes": null,
                                "cores": cores, "switches": 0, "remote": false, "fenced": false,
                                "first_touch": false, "window_set": false});
            let core = json!({"name": core, "shipped": shipped("core", "sapphire-rapids-2023", CORE)});
            let bar = json!({"name": "gpu", "shipped": shipped("bar", "gpu", BAR)});
            let link = json!({"generation": 5, "lanes": lanes, "mps_bytes": 256, "mrrs_bytes": 512});
            rows("accesses", &json!({"core": core, "bar": bar, "link": link, "accesses": [access]}))
        };
        let mine = "sapphire-rapids-2023";
        let usual = |row: &Value, key: &str| row[key]["usual"].as_f64().unwrap();
        let one = &of(mine, 16, "uncached-load", 8, 1).unwrap()[0];
        assert_eq!(one["bound"], "round-trip");
        assert!((usual(one, "gbytes_per_s") - 8.0 / usual(one, "core_ns")).abs() < 1e-12);
        let four = &of(mine, 16, "uncached-load", 8, 4).unwrap()[0];
        assert!((usual(four, "gbytes_per_s") - 4.0 * usual(one, "gbytes_per_s")).abs() < 1e-12);
        let copies = |lanes| of(mine, lanes, "combined-store", 1 << 20, 1).unwrap().remove(0);
        assert_eq!(copies(16)["bound"], "fill-buffers");
        assert_eq!(copies(4)["bound"], "wire-downstream");
        for (found, words) in [
            (of("sapphire", 16, "doorbell", 4, 1), "no core profile is named 'sapphire'"),
            (of(mine, 3, "doorbell", 4, 1), "link.lanes is 3: "),
            (of(mine, 16, "doorbell", 65, 1), "size_bytes is 65: give 1 to 64"),
            (of(mine, 16, "bell", 4, 1), "accesses[0].instruction: unknown variant `bell`"),
        ] {
            let message = found.unwrap_err();
            assert!(message.starts_with(words), "{message}");
        }
    }

    #[test]
    fn an_engine_has_the_rates_of_its_depth() {
        let of = |depth: u32, changes: Value| {
            let engine = json!({"name": "gpu", "shipped": shipped("engine", "gpu", GPU), "changes": changes});
            rows("engine", &json!({"engine": engine, "sizes_bytes": [4096], "depth": depth}))
        };
        let one = &of(1, json!({})).unwrap()[0]["to_host"];
        let (rate, wire) = (one["gbytes_per_s"].as_f64().unwrap(), one["ceilings"]["wire-upstream"].as_f64());
        assert_eq!(one["bound"], "queue-depth");
        assert!((rate - 4096.0 / (6500.0 + 4096.0 / wire.unwrap())).abs() < 1e-12);
        let slow = &of(1000, json!({"pace.to_host_gbytes_per_s": 2.5})).unwrap()[0]["to_host"];
        assert_eq!((&slow["bound"], &slow["gbytes_per_s"]), (&json!("device"), &json!(2.5)));
        assert!(of(5000, json!({})).unwrap_err().starts_with("depth is 5000: give 1 to 1024, the commands"));
    }
}
