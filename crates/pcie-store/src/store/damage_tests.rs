//! Damaged stores are read as written or refused; stores of killed writers are recovered.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use tempfile::TempDir;

use super::tests::{files, folder, manifest, record};
use crate::schema::TEST_1;
use crate::{Contents, Damage, Error, Status, Store, TestRecord, read, read_manifest};

const TESTS: u64 = 40;

/// A store of 40 tests with results of all kinds, and its contents.
fn store() -> (TempDir, PathBuf, Contents) {
    let (folder, path) = folder();
    let mut manifest = manifest("t");
    manifest.set("tests", TESTS);
    let mut store = Store::create(&path, &manifest, false).unwrap();
    for id in 0..TESTS {
        let message = (id % 5 == 0).then(|| "m".repeat(usize::try_from(10 * id).unwrap()));
        store.write_test(&TestRecord { message, ..record(id) }).unwrap();
    }
    store.attach("sys-date.txt", "Tue Jan  5\r\n").unwrap();
    store.close().unwrap();
    let contents = read(&path).unwrap();
    (folder, path, contents)
}

fn damaged(error: Error) -> Vec<Damage> {
    match error {
        Error::Damaged { damage, .. } => damage,
        other => panic!("{other}"),
    }
}

fn change(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

#[test]
fn contents_are_read_as_written() {
    let (_folder, path, contents) = store();
    assert_eq!(contents.tests[1], record(1));
    assert_eq!(contents.tests.len(), 40);
    assert_eq!(contents.manifest.tests(), Some(40));
    assert_eq!(read_manifest(&path).unwrap(), contents.manifest);
    assert_eq!(contents.attachments, [("sys-date.txt".to_owned(), "Tue Jan  5\r\n".to_owned())]);
}

#[test]
fn every_change_of_a_test_is_damage_of_that_test() {
    let changes = [
        "UPDATE test SET family = 'other' WHERE id = 7",
        "UPDATE test SET status = 'failed' WHERE id = 7",
        "UPDATE test SET message = '' WHERE id = 7",
        r#"UPDATE test SET parameters = '{"size_bytes":9}' WHERE id = 7"#,
        "UPDATE scalar SET value = value + 1e-9 WHERE test = 7",
        "UPDATE scalar SET unit = 's' WHERE test = 7",
        "UPDATE distribution SET count = count + 1 WHERE test = 7 AND bin = 30",
        "UPDATE series SET value = -value WHERE test = 7",
        "DELETE FROM scalar WHERE test = 7",
        r#"DELETE FROM series WHERE test = 7 AND "index" = 0"#,
        "INSERT INTO scalar VALUES (7, 'flow', 'rate', '1', 1)",
    ];
    for sql in changes {
        let (_folder, path, _) = store();
        change(&path, sql);
        let error = read(&path).unwrap_err();
        assert!(error.kind().is_some() && error.to_string().contains("test 7"), "{sql}: {error}");
        assert!(matches!(damaged(error)[..], [Damage::Test { id: 7, .. }]), "{sql}");
        assert!(matches!(Store::open_for_resume(&path), Err(Error::Damaged { .. })), "{sql}");
    }
}

#[test]
fn changed_manifests_attachments_and_stray_rows_are_damage() {
    let changes = [
        ("UPDATE manifest SET value = '\"x\"' WHERE key = 'title'", Damage::Manifest),
        ("DELETE FROM manifest WHERE key = 'origin'", Damage::Manifest),
        ("UPDATE attachment SET content = ''", Damage::Attachments),
        ("DELETE FROM attachment", Damage::Attachments),
        ("PRAGMA foreign_keys = OFF; DELETE FROM test WHERE id = 7", Damage::Strays("scalar")),
    ];
    for (sql, expected) in changes {
        let (_folder, path, _) = store();
        change(&path, sql);
        assert_eq!(damaged(read(&path).unwrap_err())[0], expected, "{sql}");
    }
}

#[test]
fn drop_damaged_removes_damaged_tests_only() {
    let (folder, path, contents) = store();
    change(&path, "UPDATE scalar SET value = 1 WHERE test IN (3, 30)");
    assert!(matches!(Store::open_for_resume(&path), Err(Error::Damaged { .. })));
    let dropped: Vec<_> = Store::drop_damaged(&path).unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(dropped, ["test 3 (lat_cmd_sizes LAT_CMD_RD)", "test 30 (lat_cmd_sizes LAT_CMD_RD)"]);
    assert!(Store::drop_damaged(&path).unwrap().is_empty());
    let mut resumed = Store::open_for_resume(&path).unwrap();
    assert_eq!(resumed.manifest, contents.manifest);
    assert!(!resumed.finished.contains(&3) && !resumed.finished.contains(&30));
    assert_eq!(resumed.finished.len(), 38);
    for id in [3, 30] {
        resumed.store.write_test(&contents.tests[id]).unwrap();
    }
    resumed.store.close().unwrap();
    assert!(read(&path).unwrap() == contents);
    assert_eq!(files(&folder), ["run.db"]);
    change(&path, "UPDATE manifest SET value = '1' WHERE key = 'title'");
    assert!(matches!(Store::drop_damaged(&path), Err(Error::Damaged { .. })));
}

/// Asserts that a store changed by `change` is read as written or refused as input, and that `drop_damaged`
/// keeps only tests as written. True if it was refused.
fn read_damaged(whole: &[u8], contents: &Contents, case: &str, change: impl FnOnce(&mut Vec<u8>)) -> bool {
    let (_folder, path) = folder();
    let mut bytes = whole.to_vec();
    change(&mut bytes);
    fs::write(&path, bytes).unwrap();
    let refused = match read(&path) {
        Ok(found) => {
            assert!(found == *contents, "{case}: {} tests", found.tests.len());
            false
        }
        Err(error) => {
            assert!(error.kind().is_some(), "{case}: {error}");
            true
        }
    };
    if Store::drop_damaged(&path).is_ok() {
        let kept = read(&path).unwrap();
        assert_eq!(kept.manifest, contents.manifest, "{case}");
        assert_eq!(kept.attachments, contents.attachments, "{case}");
        assert!(kept.tests.iter().all(|test| contents.tests.contains(test)), "{case}");
    }
    refused
}

/// Pseudorandom numbers below a bound, always the same.
fn spread(count: u64, below: usize) -> impl Iterator<Item = usize> {
    let mut state = 1_u64;
    (0..count).map(move |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((state >> 33) % below as u64).unwrap()
    })
}

#[test]
fn a_truncated_flipped_or_zeroed_store_is_read_as_written_or_refused() {
    let (_folder, path, contents) = store();
    let whole = fs::read(&path).unwrap();
    for length in spread(160, whole.len()) {
        let refused =
            read_damaged(&whole, &contents, &format!("{length} bytes"), |bytes| bytes.truncate(length));
        assert!(refused, "{length} bytes of {}", whole.len());
    }
    for bit in spread(300, 8 * whole.len()) {
        read_damaged(&whole, &contents, &format!("bit {bit}"), |bytes| bytes[bit / 8] ^= 1 << (bit % 8));
    }
    for sector in spread(100, whole.len() / 512) {
        read_damaged(&whole, &contents, &format!("sector {sector}"), |bytes| {
            bytes[512 * sector..][..512].fill(0);
        });
    }
}

#[test]
fn refuses_tables_that_are_not_strict() {
    let (_folder, path, _) = store();
    change(
        &path,
        "PRAGMA writable_schema = ON; PRAGMA ignore_check_constraints = ON; \
         UPDATE sqlite_schema SET sql = replace(sql, 'STRICT', ''); PRAGMA writable_schema = RESET; \
         UPDATE test SET name = x'ff00' WHERE id = 7",
    );
    let refused = read(&path).unwrap_err();
    assert!(
        matches!(refused, Error::ForeignTables { schema: 2, .. }) && refused.kind().is_some(),
        "{refused}"
    );
}

#[test]
fn refuses_thousands_of_tables() {
    let (_folder, path, _) = store();
    let tables = (0..3000).map(|number| format!("CREATE TABLE t{number} (a);")).collect::<String>();
    change(&path, &format!("BEGIN; {tables} COMMIT"));
    let refused = read(&path).unwrap_err();
    assert!(
        matches!(refused, Error::ForeignTables { schema: 2, .. }) && refused.kind().is_some(),
        "{refused:?}"
    );
}

#[test]
fn stores_of_schema_1_are_read_but_not_resumed() {
    let (_folder, path, contents) = store();
    change(&path, "PRAGMA user_version = 1");
    let refused = read(&path).unwrap_err();
    assert!(matches!(refused, Error::ForeignTables { schema: 1, .. }), "version alone: {refused}");
    // A new table, because dropping the column would leave another text.
    change(
        &path,
        &format!(
            "PRAGMA foreign_keys = OFF; PRAGMA legacy_alter_table = ON; ALTER TABLE test RENAME TO old; {TEST_1};
             INSERT INTO test SELECT id, family, name, parameters, status, message FROM old;
             DROP TABLE old; DROP TABLE digest"
        ),
    );
    assert!(read(&path).unwrap() == contents);
    let refused = Store::open_for_resume(&path).unwrap_err();
    assert!(matches!(refused, Error::OlderSchema { found: 1, known: 2, .. }), "{refused}");
    change(&path, "UPDATE test SET parameters = '[]' WHERE id = 7");
    assert!(matches!(damaged(read(&path).unwrap_err())[..], [Damage::Test { id: 7, .. }]));
    change(&path, "PRAGMA ignore_check_constraints = ON; UPDATE test SET status = 'fine' WHERE id = 8");
    assert_eq!(damaged(read(&path).unwrap_err()).len(), 2);
    Store::create(&path, &manifest("new"), true).unwrap().close().unwrap();
}

fn copy(path: &Path, to: &Path, suffixes: &[&str]) -> PathBuf {
    for suffix in suffixes {
        let name = |path: &Path| PathBuf::from(format!("{}{suffix}", path.display()));
        fs::copy(name(path), name(&to.join("copy.db"))).unwrap();
    }
    to.join("copy.db")
}

#[test]
fn the_log_of_a_killed_writer_is_read_and_removed() {
    let (_folder, path) = folder();
    let mut store = Store::create(&path, &manifest("t"), false).unwrap();
    store.write_test(&record(0)).unwrap();
    let elsewhere = TempDir::new().unwrap();
    let left = copy(&path, elsewhere.path(), &["", "-wal"]);
    assert_eq!(read(&left).unwrap().tests, [record(0)]);
    assert_eq!(files(&elsewhere), ["copy.db"]);
    store.close().unwrap();
}

#[test]
fn the_journal_of_a_killed_writer_is_rolled_back() {
    let (_folder, path, contents) = store();
    let writer = Connection::open(&path).unwrap();
    writer
        .execute_batch("PRAGMA cache_size = 1; BEGIN; UPDATE test SET message = hex(zeroblob(5000))")
        .unwrap();
    let elsewhere = TempDir::new().unwrap();
    let left = copy(&path, elsewhere.path(), &["", "-journal"]);
    assert!(read(&left).unwrap() == contents);
    assert_eq!(files(&elsewhere), ["copy.db"]);
}

#[test]
fn interrupted_tests_are_read_as_interrupted() {
    let (_folder, path) = folder();
    let mut store = Store::create(&path, &manifest("t"), false).unwrap();
    store.write_test(&TestRecord { status: Status::Interrupted, ..record(1) }).unwrap();
    assert_eq!(read(&path).unwrap().tests[0].status, Status::Interrupted);
    store.close().unwrap();
}
