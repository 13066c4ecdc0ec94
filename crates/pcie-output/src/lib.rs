//! Files and folders that appear whole or not at all: the one writer behind everything that pcielab writes.
//!
//! An output is written in a hidden folder beside its path ([`Beside`]), synced, and moved there in one step.
//! Its process locks the folder; the next command removes unlocked ones, which killed commands left.
//!
//! Only regular files are replaced. Links are followed; terminals, devices and pipes are written into.

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
