//! The doctor for JavaScript.

use pcie_evidence::machine_of_text;
use wasm_bindgen::prelude::*;

use crate::{describe, draw, examine};

const WIDTH: usize = 110;

/// The report on a machine, as texts.
#[wasm_bindgen(getter_with_clone)]
pub struct Report {
    /// The findings, worst first.
    pub findings: String,
    /// Registers that could not be read, and how to show them.
    pub unseen: Vec<String>,
    /// The tree with its links.
    pub tree: String,
}

/// Examines the machine that a text shows, as `lspci` prints it; throws the reason of a refusal as a text.
#[wasm_bindgen]
pub fn report(text: &str, source: &str) -> Result<Report, JsValue> {
    let refused = |refusal: pcie_refusal::Refusal| JsValue::from_str(&refusal.to_string());
    let machine = machine_of_text(text, source).map_err(refused)?;
    let examination = examine(&machine, Vec::new(), None).map_err(refused)?;
    let (findings, tree) = (describe(&examination, &machine, WIDTH, false), draw(&machine, &examination));
    Ok(Report { findings, unseen: examination.unseen, tree })
}
