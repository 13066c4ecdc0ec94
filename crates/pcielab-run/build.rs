//! Lists the shipped profiles of systems and their parts, for the binary to carry.

use std::env::var;
use std::fs::{read_dir, write};
use std::io::Result;
use std::path::{Path, PathBuf};

fn main() -> Result<()> {
    let profiles = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../profiles");
    let mut listed = String::from("[\n");
    for (kind, folder) in
        [("system", "systems"), ("link", "links"), ("host", "hosts"), ("device", "devices"), ("nic", "nics")]
    {
        let folder = profiles.join(folder).canonicalize()?;
        println!("cargo::rerun-if-changed={}", folder.display());
        let mut files = read_dir(&folder)?.map(|file| Ok(file?.path())).collect::<Result<Vec<PathBuf>>>()?;
        files.sort();
        for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "toml")) {
            listed += &format!(
                "    ({kind:?}, {:?}, include_str!({file:?})),\n",
                file.file_stem().unwrap_or_default()
            );
        }
    }
    let target = var("OUT_DIR").map(PathBuf::from).map_err(std::io::Error::other)?;
    write(target.join("profiles.rs"), listed + "]\n")
}
