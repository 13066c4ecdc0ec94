//! Files and folders that appear whole or not at all: the one writer behind everything that pcielab writes.
//!
//! An output is made in a hidden folder beside its place ([`Beside`]), synced, and then moved there in one step, so that
//! what was there before is there until its successor is complete. The folder is locked for as long as its maker lives;
//! one that is not is what a killed command left, and the next command that writes there removes it.
//!
//! Only regular files are ever replaced. A link is followed; a terminal, a device or a pipe is written into, as a shell
//! does. This crate knows nothing of what it writes.

mod beside;
mod error;
mod name;
mod target;
mod write;

pub use beside::{Beside, remove_leftovers_beside};
pub use error::{Error, Result};
pub use name::plain_file_name;
pub use target::{Found, Target};
pub use write::{write_file, write_folder};
