//! The requests for JavaScript.

use wasm_bindgen::prelude::*;

/// Answers a request; throws the reason of a refusal as a text.
#[wasm_bindgen]
pub fn ask(name: &str, asked: &str) -> Result<String, JsValue> {
    crate::ask(name, asked).map_err(|refusal| JsValue::from_str(&refusal.to_string()))
}
