//! Frames through a NIC on a bare link: the answer of `pcielab why --nic`, and the NIC's queues and features.

use pcie_bench::Stop;
use pcie_describe::Single;
use pcie_model::{Ethernet, InterpacketGap, Nic};
use pcie_refusal::Refusal;
use pcie_sim::nic::Direction;
use pcie_why::{
    Answer, FramesAsked, LinkGiven, StatedPackets, check_measured, direction_of, traffic_of, usual_link,
    why_nic_on_link,
};
use pcie_wire::LinkParameters;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::described::Described;
use crate::why::{answered, until};

/// The table of a NIC's file with the sizes of its queues.
const QUEUES: &str = "queues.";

/// A NIC, frames of one size on its line, its link, and perhaps a measured rate.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    /// The NIC; its name turns features on: `connectx-5+mprq`.
    nic: Described,
    line_gbps: f64,
    frame_bytes: u64,
    /// Absent: every direction that the NIC has.
    direction: Option<Direction>,
    #[serde(default)]
    link: LinkGiven,
    /// The measured rate of one direction, Gb/s: frames less their FCS.
    measured: Option<f64>,
    /// What vendors state of packets.
    stated: StatedPackets,
}

/// The answer, and what the NIC consists of.
#[derive(Debug, Serialize)]
pub(crate) struct Answered {
    answer: Answer,
    link: LinkParameters,
    name: String,
    description: String,
    queues: Vec<Queue>,
    features: Vec<Feature>,
}

/// A value of the NIC's queues.
#[derive(Debug, Serialize)]
struct Queue {
    key: String,
    value: Value,
    meaning: String,
    /// What gave it: a file, or `--set`.
    source: Option<String>,
}

/// A feature that is on or off.
#[derive(Debug, Serialize)]
struct Feature {
    name: String,
    what: String,
    source: String,
    is_on: bool,
}

/// Why the frames move no faster.
pub(crate) fn why(asked: &Asked, stop: &Stop) -> Result<Answered, Refusal> {
    asked.measured.map_or(Ok(()), check_measured)?;
    let nic = asked.nic.nic()?;
    let described = nic.known();
    let ethernet = Ethernet { line_gbps: asked.line_gbps, vlan: false, gap: InterpacketGap::Standard };
    let direction = asked.direction.unwrap_or_else(|| direction_of(&described.plain));
    let traffic = traffic_of(&described.plain.queues, ethernet, asked.frame_bytes, direction);
    let question = FramesAsked {
        measured: asked.measured,
        is_link_assumed: asked.link.is_empty(),
        stated: Some(asked.stated.clone()),
        ..FramesAsked::of_frames(traffic)
    };
    let link = asked.link.over(usual_link(asked.line_gbps));
    let answer = answered(why_nic_on_link(&described, link, &question, &mut until(stop)))?;
    let (name, description) = (described.plain.name.clone(), described.plain.description.clone());
    Ok(Answered { answer, link, name, description, queues: queues(&nic)?, features: features(&described) })
}

fn queues(nic: &Single<Nic>) -> Result<Vec<Queue>, Refusal> {
    let values = nic.values()?;
    let of_queues = nic.keys()?.into_iter().filter(|(key, _)| key.starts_with(QUEUES));
    let queue = |(key, meaning): (String, String)| {
        let value = key.split('.').fold(&values, |table, part| &table[part]).clone();
        Queue { source: nic.source(&key), key, value, meaning }
    };
    Ok(of_queues.map(queue).collect())
}

fn features(nic: &Nic) -> Vec<Feature> {
    let feature = |(name, switch): (&String, &pcie_model::Switch)| Feature {
        name: name.clone(),
        what: switch.what.clone(),
        source: switch.source.clone(),
        is_on: nic.on.contains(name),
    };
    nic.switches.iter().map(feature).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::ask;

    const CONNECTX: &str = include_str!("../../../profiles/nics/connectx-5.toml");

    fn asked(name: &str, more: &Value) -> Result<Value, String> {
        let shipped = json!({"nic": {"connectx-5": toml::from_str::<Value>(CONNECTX).unwrap()}});
        let stated = json!({"rates": [], "most_mpps": 250.0, "most_id": "F1"});
        let nic = json!({"name": name, "shipped": shipped, "changes": {"queues.pairs": 2}});
        let mut asked = json!({"nic": nic, "line_gbps": 100.0, "frame_bytes": 64, "stated": stated});
        asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let found = ask("why-nic", &asked.to_string()).map_err(|refusal| refusal.to_string())?;
        Ok(serde_json::from_str(&found).unwrap())
    }

    #[test]
    fn frames_are_answered_with_queues_and_features() {
        let found = asked("connectx-5+mprq", &json!({"measured": 20.0})).unwrap();
        assert_eq!(found["answer"]["sentences"].as_array().unwrap().len(), 3);
        assert!(found["answer"]["notes"][0].as_str().unwrap().starts_with("link assumed: Gen3 x16"));
        let pairs = found["queues"].as_array().unwrap().iter().find(|one| one["key"] == "queues.pairs");
        assert_eq!(
            pairs.map(|pairs| (&pairs["value"], &pairs["source"])),
            Some((&json!(2), &json!("--set")))
        );
        let on = found["features"].as_array().unwrap().iter().filter(|one| one["is_on"] == true);
        assert_eq!(on.map(|one| one["name"].as_str().unwrap()).collect::<Vec<_>>(), ["mprq"]);
    }

    #[test]
    fn impossible_frames_are_refused() {
        for (more, words) in [
            (json!({"measured": 0.0}), "--measured 0: give a value above 0"),
            (json!({"frame_bytes": 63}), "frame_bytes is 63"),
            (json!({"line_gbps": 30.0}), "line_gbps is 30"),
            (json!({"link": {"lanes": 3}}), "lanes is 3: give 1, 2, 4"),
            (json!({"link": {"lane": 4}}), "link.lane: unknown field `lane`"),
        ] {
            let message = asked("connectx-5", &more).unwrap_err();
            assert!(message.starts_with(words), "{message}");
        }
    }
}
