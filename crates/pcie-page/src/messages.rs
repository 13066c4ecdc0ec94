//! Messages of a core to a device by stores and by descriptors: the closed form of `pcielab model pio`.

use pcie_model::pio::{Crossings, Messages};
use pcie_model::{Limits, Model};
use pcie_refusal::Refusal;
use pcie_schema::size::read_sizes;
use pcie_why::LinkGiven;
use pcie_wire::{Accounting, LinkParameters};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::described::Described;

/// A core and a device, their link, and messages.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    profile: Described,
    /// Values of the link; the others are those of the link that the profile's times were measured on.
    #[serde(default)]
    link: LinkGiven,
    /// Messages that share a doorbell; absent: as the profile says.
    batch: Option<u32>,
    /// Sizes of payloads, as `--messages` takes them: `64`, `first:last[:step]` or `64:4K:x2`.
    payloads: String,
    /// Likewise, those of a picture.
    #[serde(default)]
    curve: Option<String>,
}

/// The messages, and the sizes from which descriptors win.
#[derive(Debug, Serialize)]
pub(crate) struct Answered {
    title: Value,
    link: LinkParameters,
    messages: Vec<Messages>,
    curve: Vec<Messages>,
    crossings: Crossings,
    notes: Vec<String>,
}

/// Messages of each payload in each way.
pub(crate) fn messages(asked: &Asked) -> Result<Answered, Refusal> {
    let mut profile = asked.profile.messages()?;
    if let Some(batch) = asked.batch {
        profile = profile.with_batch(batch)?;
    }
    let link = asked.link.over(profile.content.link);
    let model = Model::try_from(pcie_model::ModelParameters {
        link,
        accounting: Accounting::Spec,
        limits: Limits::default(),
    })?;
    let of_sizes = |text: &str| -> Result<Vec<Messages>, Refusal> {
        let sizes = read_sizes(text).map_err(|refusal| refusal.about("--messages"))?;
        sizes.into_iter().map(|bytes| model.messages(&profile.content, bytes, 0)).collect()
    };
    Ok(Answered {
        title: profile.head.get("title").cloned().unwrap_or_default(),
        link,
        messages: of_sizes(&asked.payloads)?,
        curve: asked.curve.as_deref().map_or(Ok(Vec::new()), of_sizes)?,
        crossings: model.crossings(&profile.content)?,
        notes: profile.times_of_older_link(link.generation).into_iter().collect(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::ask;

    /// The shipped files that a profile of messages is made of.
    fn shipped() -> Value {
        let read = |text: &str| toml::from_str::<Value>(text).unwrap();
        json!({
            "messages": {"kpio-2012": read(include_str!("../../../profiles/pio/kpio-2012.toml"))},
            "system": {"kpio-2012": read(include_str!("../../../profiles/systems/kpio-2012.toml"))},
            "host": {"snb-e5-2630": read(include_str!("../../../profiles/hosts/snb-e5-2630.toml"))},
            "device": {"direct-dma": read(include_str!("../../../profiles/devices/direct-dma.toml"))},
        })
    }

    fn messages(more: &Value) -> Result<Value, String> {
        let profile = json!({"name": "kpio-2012", "shipped": shipped()});
        let mut asked = json!({"profile": profile, "payloads": "64,1K", "curve": "8:64:x2"});
        asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let found = ask("pio", &asked.to_string()).map_err(|refusal| refusal.to_string())?;
        Ok(serde_json::from_str(&found).unwrap())
    }

    #[test]
    fn a_batch_delays_the_descriptors_of_a_message_alone_and_a_later_link_is_noted() {
        let latency = |found: &Value| found["messages"][0]["descriptors"]["latency_ns"].as_f64().unwrap();
        let plain = messages(&json!({})).unwrap();
        assert_eq!((plain["messages"].as_array().unwrap().len(), plain["notes"].clone()), (2, json!([])));
        assert_eq!(plain["curve"].as_array().unwrap().len(), 4);
        assert!(latency(&messages(&json!({"batch": 32})).unwrap()) > latency(&plain));
        let later = messages(&json!({"link": {"generation": 5}})).unwrap();
        assert!(later["notes"][0].as_str().unwrap().contains("no evidence about a Gen5 machine"));
    }

    #[test]
    fn impossible_messages_are_refused() {
        for (more, words) in [
            (json!({"payloads": "64-1500"}), "--messages: '64-1500' is not a size"),
            (json!({"payloads": "1M"}), "payload_bytes is 1048576"),
            (json!({"batch": 0}), "descriptors.messages_per_doorbell is 0"),
            (json!({"link": {"lanes": 3}}), "lanes is 3: give 1, 2, 4"),
        ] {
            let message = messages(&more).unwrap_err();
            assert!(message.starts_with(words), "{message}");
        }
    }
}
