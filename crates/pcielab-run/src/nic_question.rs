//! A question about frames through a NIC: on a link in closed form, or on a simulated system.

use crate::profiles::{nic, system};
use clap::Args;
use pcie_describe::{Table, typed_changes};
use pcie_model::{Ethernet, Nic};
use pcie_refusal::{Kind, Refusal, Unfinished};
use pcie_schema::size::read_size;
use pcie_sim::nic::Traffic;
use pcie_why::{
    Answer, FramesAsked, LinkGiven, direction_of, traffic_of, usual_link, why_nic, why_nic_on_link,
};
use serde_json::Value;
use std::ops::ControlFlow;

/// The kind of a NIC's changes: `nic.queues.pairs=4`.
const NIC: &str = "nic.";
/// The device through which a simulated NIC reaches its host.
const PORT: &str = "device=direct-dma";

/// Frames of one size through a NIC, and its link.
#[derive(Args)]
pub(crate) struct NicOptions {
    /// Ask about this NIC: a shipped one by name, or a .toml file; NAME+FEATURE turns a feature on.
    #[arg(long, value_name = "NAME|FILE", conflicts_with = "test")]
    nic: Option<String>,
    /// With --nic: frame size in bytes, FCS included.
    #[arg(long, requires = "nic", default_value_t = 64)]
    frame: u64,
    /// With --nic: line rate in Gb/s.
    #[arg(long, requires = "nic", default_value_t = 40.0)]
    line: f64,
    /// With --nic: send, receive, or both [default: what the NIC has].
    #[arg(long, requires = "nic", value_parser = ["both", "tx", "rx"])]
    direction: Option<String>,
    /// With --nic: PCIe generation [default: usual for its line].
    #[arg(long, requires = "nic")]
    r#gen: Option<u32>,
    /// With --nic: lanes [default: usual for its line].
    #[arg(long, requires = "nic")]
    lanes: Option<u32>,
    /// With --nic: Maximum Payload Size [default: usual for its line].
    #[arg(long, requires = "nic", value_parser = bytes)]
    mps: Option<u32>,
    /// With --nic: Maximum Read Request Size [default: usual for its line].
    #[arg(long, requires = "nic", value_parser = bytes)]
    mrrs: Option<u32>,
}

fn bytes(text: &str) -> Result<u32, String> {
    let read = read_size(text).map_err(|refusal| refusal.to_string())?;
    u32::try_from(read).map_err(|_| "give 128 to 4096".to_owned())
}

impl NicOptions {
    /// The name or path of the NIC, if a question about one was asked.
    pub(crate) fn nic(&self) -> Option<&str> {
        self.nic.as_deref()
    }

    /// Why the frames move no faster: on a system if one is named or changed, else on the bare link.
    pub(crate) fn why(
        &self,
        name: &str,
        profile: Option<&str>,
        default_profile: &str,
        sets: &[String],
        measured: Option<f64>,
    ) -> Result<Answer, Unfinished> {
        let (of_nic, of_system) = split(sets)?;
        let read = nic(name, &of_nic)?;
        let described = read.known();
        let asked = FramesAsked { measured, ..FramesAsked::of_frames(self.traffic(&described)?) };
        let mut go_on = |_, _| ControlFlow::Continue(());
        if profile.is_none() && of_system.is_empty() {
            let asked = FramesAsked { is_link_assumed: self.link().is_empty(), ..asked };
            return why_nic_on_link(&described, self.link().over(usual_link(self.line)), &asked, &mut go_on);
        }
        if !self.link().is_empty() {
            let remedy = "a profile has its own link: give --set link.lanes=8 instead";
            let refusal = Refusal::new(remedy).kind(Kind::Conflict).about("--gen, --lanes, --mps, --mrrs");
            return Err(refusal.into());
        }
        let mut changes = typed_changes(&[PORT.to_owned()])?;
        changes.extend(of_system);
        let read = system(profile.unwrap_or(default_profile), changes)?;
        let unmeasured = read.unmeasured()?.into_iter().map(|(key, word)| (key, word.to_owned())).collect();
        let notes = vec![format!("simulated on {}", profile.unwrap_or(&read.system.name))];
        let asked = FramesAsked { unmeasured, borrowed: read.borrowed()?, notes, ..asked };
        why_nic(&described, read.system, &asked, &mut go_on)
    }

    /// The given values of the link.
    fn link(&self) -> LinkGiven {
        LinkGiven { generation: self.r#gen, lanes: self.lanes, mps_bytes: self.mps, mrrs_bytes: self.mrrs }
    }

    /// The frames, with enough packets before the counted ones to fill every queue.
    fn traffic(&self, nic: &Nic) -> Result<Traffic, Refusal> {
        let ethernet = Ethernet { line_gbps: self.line, vlan: false, gap: Default::default() };
        ethernet.check().map_err(|refusal| refusal.key("--line"))?;
        Ethernet::transferred_bytes(self.frame).map_err(|refusal| refusal.key("--frame"))?;
        let direction = match &self.direction {
            Some(word) => serde_json::from_value(Value::from(word.as_str())).map_err(Refusal::new)?,
            None => direction_of(&nic.plain),
        };
        Ok(traffic_of(&nic.plain.queues, ethernet, self.frame, direction))
    }
}

/// The changes of the NIC, without their kind, and those of the system.
fn split(sets: &[String]) -> Result<(Table, Table), Refusal> {
    let (of_nic, of_system): (Vec<String>, Vec<String>) =
        sets.iter().cloned().partition(|text| text.starts_with(NIC));
    let own: Vec<String> =
        of_nic.iter().filter_map(|text| text.strip_prefix(NIC)).map(str::to_owned).collect();
    Ok((typed_changes(&own)?, typed_changes(&of_system)?))
}
