//! Names from stores and other foreign files that are to become names of files.

use crate::error::{Error, Result};

/// The longest name that common file systems take, bytes.
const LONGEST_BYTES: usize = 255;

/// Names that some system reads as a device, whatever follows their first dot.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// Refuses a name that is not the plain name of a file: one that leads into another folder, that no file can have, or
/// that stands for a device.
///
/// # Errors
/// [`Error::Name`], which says what is wrong.
pub fn plain_file_name(name: &str) -> Result<()> {
    let refused = |why| Err(Error::Name { name: name.to_owned(), why });
    if name.is_empty() || name == "." || name == ".." {
        return refused("names no file");
    }
    if name.contains(['/', '\\', ':']) {
        return refused("holds a separator of folders");
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
    fn a_name_that_would_leave_its_folder_is_refused() {
        let long = "x".repeat(256);
        let names = [
            "",
            ".",
            "..",
            "../victim.toml",
            "/etc/passwd",
            "a/b",
            "..\\a",
            "C:a",
            "a\0b",
            "a\nb",
            "NUL",
            "com1.txt",
            &long,
        ];
        for name in names {
            assert!(matches!(plain_file_name(name), Err(Error::Name { .. })), "{name:?}");
        }
    }
}
