//! File names that come from stores and other foreign files.

use crate::error::{Error, Result};

/// Longest name on common file systems, bytes.
const LONGEST_BYTES: usize = 255;

/// Device names on some systems, with any suffix after a dot.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// Refuses a name that leads into another folder, is invalid or is a device's, with [`Error::Name`].
pub fn plain_file_name(name: &str) -> Result<()> {
    let refused = |why| Err(Error::Name { name: name.to_owned(), why });
    if name.is_empty() || name == "." || name == ".." {
        return refused("names no file");
    }
    if name.contains(['/', '\\', ':']) {
        return refused("holds a path separator");
    }
    if name.chars().any(char::is_control) {
        return refused("holds a control character");
    }
    if name.len() > LONGEST_BYTES {
        return refused("is longer than 255 bytes");
    }
    let stem = name.split('.').next().unwrap_or(name).to_lowercase();
    let numbered = stem.strip_prefix("com").or_else(|| stem.strip_prefix("lpt"));
    if DEVICES.contains(&stem.as_str())
        || numbered.is_some_and(|rest| rest.len() == 1 && rest.bytes().all(|digit| digit.is_ascii_digit()))
    {
        return refused("is reserved for a device");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_published_files_are_plain() {
        for name in ["sys-lspci.txt", "bw_dma_sz_sweep.csv", "ORIGIN.txt", "..a", "compare.txt", "größe"] {
            plain_file_name(name).unwrap();
        }
    }

    #[test]
    fn refuses_names_that_leave_the_folder_or_are_invalid() {
        let long = "x".repeat(256);
        let leading = ["", ".", "..", "../victim.toml", "/etc/passwd", "a/b", "..\\a", "C:a"];
        for name in leading.into_iter().chain(["a\0b", "a\nb", "NUL", "com1.txt", &long]) {
            assert!(matches!(plain_file_name(name), Err(Error::Name { .. })), "{name:?}");
        }
    }
}
