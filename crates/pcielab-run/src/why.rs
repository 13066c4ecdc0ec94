//! `pcielab-run why`: what binds a test on a system or frames through a NIC, how sure that is, and what to change.

use crate::failure::{Failure, printable};
use crate::input::pretty;
use crate::nic_question::NicOptions;
use crate::output::write;
use crate::profiles::system;
use crate::test_options::TestOptions;
use clap::Args;
use pcie_describe::typed_changes;
use pcie_refusal::{Kind, Refusal, Unfinished};
use pcie_why::{Answer, TestAsked, check_measured, why_test};
use std::ops::ControlFlow;

const MEASURED: &str = "measured";
/// The system where none is named.
const PROFILE: &str = "hsw2620";

/// A test on a system, or frames through a NIC.
#[derive(Args)]
pub(crate) struct WhyArguments {
    /// The test, like bw-rd.
    #[arg(long, required_unless_present = "nic")]
    test: Option<String>,
    /// System: a shipped one by name, or a .toml file [default: hsw2620]; with --nic, simulate the NIC on it.
    #[arg(long, value_name = "NAME|FILE")]
    profile: Option<String>,
    /// Change one value of the system, or of the NIC (nic.KEY); repeatable.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
    /// The value to explain: Gb/s of one direction (of a NIC, frames less their FCS), or ns for a test of latency.
    #[arg(long)]
    measured: Option<f64>,
    /// Write the whole answer as one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    nic: NicOptions,
    #[command(flatten)]
    options: TestOptions,
}

impl WhyArguments {
    fn answer(&self) -> Result<Answer, Unfinished> {
        self.measured.map_or(Ok(()), check_measured)?;
        if let Some(name) = self.nic.nic() {
            if let Some(option) = self.options.first() {
                let remedy = format!("has no effect with --nic: leave --{option} out");
                let refusal = Refusal::new(remedy).kind(Kind::Conflict).about(format!("--{option}"));
                return Err(refusal.into());
            }
            return self.nic.why(name, self.profile.as_deref(), PROFILE, &self.sets, self.measured);
        }
        let read = system(self.profile.as_deref().unwrap_or(PROFILE), typed_changes(&self.sets)?)?;
        let asked = TestAsked {
            title: read.title(),
            test: self.options.test(self.test.as_deref().unwrap_or_default())?,
            measured: self.measured,
            origin: MEASURED.to_owned(),
            unmeasured: read.unmeasured()?.into_iter().map(|(key, word)| (key, word.to_owned())).collect(),
            borrowed: read.borrowed()?,
            notes: Vec::new(),
        };
        why_test(&read.system, &asked, &mut |_, _| ControlFlow::Continue(()))
    }
}

/// Answers in three sentences.
pub(crate) fn why(arguments: &WhyArguments) -> Result<(), Failure> {
    let answer = arguments.answer().map_err(|unfinished| match unfinished {
        Unfinished::Refused(refusal) => refusal,
        Unfinished::Stopped => Refusal::new(Unfinished::Stopped),
    })?;
    if arguments.json {
        return write((pretty(&answer)? + "\n").as_bytes());
    }
    for note in &answer.notes {
        eprintln!("{}", printable(note));
    }
    let sentences: Vec<String> = answer.sentences.iter().map(|sentence| printable(sentence)).collect();
    write((sentences.join("\n") + "\n").as_bytes())
}
