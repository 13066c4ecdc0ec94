//! `pcielab-run why`: what binds a test on a system, how sure that is, and what to change.

use crate::failure::{Failure, printable};
use crate::input::pretty;
use crate::output::write;
use crate::profiles::system;
use crate::test_options::TestOptions;
use clap::Args;
use pcie_refusal::{Refusal, Unfinished};
use pcie_why::{TestAsked, why_test};
use std::ops::ControlFlow;

const MEASURED: &str = "measured";

/// A test and a system.
#[derive(Args)]
pub(crate) struct WhyArguments {
    /// The test, like bw-rd.
    #[arg(long)]
    test: String,
    /// System: a shipped one by name, or a .toml file.
    #[arg(long, default_value = "hsw2620", value_name = "NAME|FILE")]
    profile: String,
    /// Change one value of the system; repeatable.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
    /// The value to explain: Gb/s of one direction, or ns for a test of latency.
    #[arg(long)]
    measured: Option<f64>,
    /// Write the whole answer as one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    options: TestOptions,
}

/// Answers in three sentences.
pub(crate) fn why(arguments: &WhyArguments) -> Result<(), Failure> {
    let read = system(&arguments.profile, &arguments.sets)?;
    let asked = TestAsked {
        title: read.title(),
        test: arguments.options.test(&arguments.test)?,
        measured: arguments.measured,
        origin: MEASURED.to_owned(),
        unmeasured: read.unmeasured()?.into_iter().map(|(key, word)| (key, word.to_owned())).collect(),
        borrowed: read.borrowed()?,
        notes: Vec::new(),
    };
    let answer = why_test(&read.system, &asked, &mut |_, _| ControlFlow::Continue(()));
    let answer = answer.map_err(|unfinished| match unfinished {
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
