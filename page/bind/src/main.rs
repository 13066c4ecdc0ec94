//! `bind IN.wasm FOLDER`: writes JavaScript that loads a WebAssembly module, and the module, into a folder.

use std::process::ExitCode;
use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [input, folder] = arguments.as_slice() else {
        eprintln!("usage: bind IN.wasm FOLDER");
        return ExitCode::from(2);
    };
    let mut bindgen = Bindgen::new();
    let written = bindgen.web(true).and_then(|bindgen| bindgen.input_path(input).typescript(false).generate(folder));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{input}: {error:#}");
            ExitCode::FAILURE
        }
    }
}
