//! Outputs appear whole or not at all, keep old files on failure, and leave nothing behind.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::*;
use crate::{write_file, write_folder};

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn files(content: &str) -> BTreeMap<String, Vec<u8>> {
    ["mark", "a"].map(|name| (name.to_owned(), content.as_bytes().to_vec())).into()
}

#[test]
fn a_file_is_replaced_only_with_overwrite_and_passes_on_its_permissions() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("page.html");
    write_file(&path, b"old", false).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(matches!(write_file(&path, b"new", false), Err(Error::Exists { .. })));
    assert_eq!(fs::read(&path).unwrap(), b"old");
    write_file(&path, b"new", true).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(names(folder.path()), ["page.html"]);
}

#[test]
fn a_link_is_followed_and_one_to_nothing_is_refused() {
    let folder = TempDir::new().unwrap();
    let (file, link, dangling) = ["file", "link", "dangling"].map(|name| folder.path().join(name)).into();
    fs::write(&file, "old").unwrap();
    symlink(&file, &link).unwrap();
    symlink(folder.path().join("nowhere"), &dangling).unwrap();
    assert!(matches!(write_file(&link, b"new", false), Err(Error::Exists { .. })));
    write_file(&link, b"new", true).unwrap();
    assert!(link.is_symlink());
    assert_eq!(fs::read(&file).unwrap(), b"new");
    for overwrite in [false, true] {
        assert!(matches!(write_file(&dangling, b"new", overwrite), Err(Error::DanglingLink { .. })));
    }
    assert_eq!(names(folder.path()), ["dangling", "file", "link"]);
}

#[test]
fn devices_are_written_into_and_never_replaced() {
    write_file(Path::new("/dev/null"), b"new", true).unwrap();
    let full = write_file(Path::new("/dev/full"), b"new", true).unwrap_err();
    assert!(matches!(full, Error::Failed { .. }) && full.kind().is_none(), "{full}");
    for device in ["/dev/null", "/dev/full"] {
        assert_eq!(Target::find(Path::new(device)).unwrap().found, Found::Stream);
    }
    let folder = TempDir::new().unwrap();
    for path in [folder.path(), Path::new("/"), Path::new("..")] {
        assert!(matches!(write_file(path, b"new", true), Err(Error::NotAFile { .. })));
    }
}

#[test]
fn an_unwritable_path_is_an_error_with_its_cause() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    for (path, cause) in [("nowhere/a", "there is no such folder"), ("file/a", "not a directory")] {
        let refused = write_file(&folder.path().join(path), b"", false).unwrap_err();
        assert!(matches!(refused, Error::Unwritable { .. }) && refused.kind().is_some());
        assert!(refused.to_string().contains(cause), "{refused}");
    }
}

#[test]
fn only_own_folders_are_replaced_and_whole() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out");
    write_folder(&out, &files("old"), false, "mark").unwrap();
    fs::write(out.join("stale"), "").unwrap();
    assert!(matches!(write_folder(&out, &files("new"), false, "mark"), Err(Error::Exists { .. })));
    write_folder(&out, &files("new"), true, "mark").unwrap();
    assert_eq!(names(&out), ["a", "mark"]);
    assert_eq!(fs::read(out.join("a")).unwrap(), b"new");
    assert!(matches!(write_folder(&out, &files(""), true, "other"), Err(Error::ForeignFolder { .. })));
    assert!(matches!(
        write_folder(&out.join("a"), &files(""), true, "mark"),
        Err(Error::ForeignFolder { .. })
    ));
    let outside = BTreeMap::from([("../victim".to_owned(), vec![])]);
    assert!(matches!(write_folder(&out, &outside, true, "mark"), Err(Error::Name { .. })));
    assert_eq!(names(folder.path()), ["out"]);
}

#[test]
fn a_failed_exchange_restores_the_old_folder() {
    let folder = TempDir::new().unwrap();
    let (path, old) = (folder.path().join("out"), folder.path().join("old"));
    fs::create_dir(&path).unwrap();
    assert!(exchange(&folder.path().join("missing"), &path, &old).is_err());
    assert_eq!(names(folder.path()), ["out"]);
}

#[test]
fn leftovers_are_removed_and_folders_in_use_are_kept() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("run.db");
    let leftover = folder.path().join(".other.csv.aB3xY9.pcielab-tmp");
    fs::create_dir(&leftover).unwrap();
    fs::write(leftover.join("fresh-wal"), "half").unwrap();
    fs::create_dir(folder.path().join(".mine.pcielab-tmp")).unwrap();
    let in_use = Beside::new(Target::find(&path).unwrap()).unwrap();
    fs::write(in_use.fresh(), "whole").unwrap();

    write_file(&folder.path().join("a.csv"), b"", false).unwrap();
    assert!(in_use.fresh().exists());
    in_use.put_file_in_place(false).unwrap();
    assert_eq!(names(folder.path()), [".mine.pcielab-tmp", "a.csv", "run.db"]);
}

/// Each writer cleans up before it writes, so that eight writers meet temporary folders in every state.
#[test]
fn writers_side_by_side_do_not_take_each_others_temporary_folders() {
    const WRITERS: usize = 8;
    const FILES: usize = 400;
    let folder = TempDir::new().unwrap();
    let failures: Vec<String> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let folder = folder.path();
                scope.spawn(move || {
                    let path = folder.join(format!("{writer}.csv"));
                    let written = (0..FILES).map(|file| write_file(&path, &file.to_le_bytes(), true));
                    written.filter_map(|done| done.err().map(|error| error.to_string())).collect::<Vec<_>>()
                })
            })
            .collect();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    let (failed, written) = (failures.len(), WRITERS * FILES);
    assert_eq!(failures.first(), None, "{failed} of {written} files failed");
    assert_eq!(names(folder.path()), (0..WRITERS).map(|writer| format!("{writer}.csv")).collect::<Vec<_>>());
}

#[test]
fn a_command_killed_between_two_renames_loses_neither_folder() {
    let folder = TempDir::new().unwrap();
    let leftover = folder.path().join(".out.aB3xY9.pcielab-tmp");
    fs::create_dir_all(leftover.join("old")).unwrap();
    fs::write(leftover.join("old/ORIGIN.txt"), "measured").unwrap();
    write_file(&folder.path().join("a.csv"), b"", false).unwrap();
    assert_eq!(names(folder.path()), ["a.csv", "out"]);
    assert_eq!(fs::read(folder.path().join("out/ORIGIN.txt")).unwrap(), b"measured");
}
