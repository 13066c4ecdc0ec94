//! `include/pcielab.h` is current: `UPDATE_HEADER=1 cargo test -p pcie-port --test header` renews it.

use std::path::Path;

#[test]
fn header_is_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    let sources =
        ["abi.rs", "abi/code.rs", "abi/layout.rs", "abi/made.rs", "abi/machine.rs", "abi/machine_layout.rs"];
    let builder = sources.iter().fold(cbindgen::Builder::new().with_config(config), |builder, source| {
        builder.with_src(root.join("src").join(source))
    });
    let mut made = Vec::new();
    builder.generate().unwrap().write(&mut made);
    let made = String::from_utf8(made).unwrap();
    let header = root.join("include/pcielab.h");
    if std::env::var_os("UPDATE_HEADER").is_some() {
        std::fs::write(&header, &made).unwrap();
    }
    let current = std::fs::read_to_string(&header).unwrap_or_default();
    assert!(current == made, "{} is stale: see the head of this test", header.display());
}
