//! Finished tests are never lost, other files are never destroyed, and files that are no store are refused.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use crate::{Distribution, Error, Manifest, Origin, Scalar, Series, Status, Store, TestRecord, read};
use pcie_time::Picoseconds;
use pcie_trace::{Recorder, Segment};
use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

pub(super) fn folder() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("run.db");
    (folder, path)
}

pub(super) fn manifest(title: &str) -> Manifest {
    let mut manifest = Manifest::new(Origin::Simulated);
    manifest.set("title", title);
    manifest.set("tests", 2);
    manifest
}

pub(super) fn record(id: u64) -> TestRecord {
    TestRecord {
        id,
        family: "lat_cmd_sizes".to_owned(),
        name: "LAT_CMD_RD".to_owned(),
        parameters: r#"{"size_bytes":8}"#.to_owned(),
        status: Status::Ok,
        message: None,
        scalars: vec![Scalar {
            subject: String::new(),
            metric: "median".to_owned(),
            unit: "ns".to_owned(),
            value: 400.0 + f64::from(u32::try_from(id).unwrap()),
        }],
        distributions: vec![Distribution {
            metric: "latency".to_owned(),
            tick: "40/3".to_owned(),
            bins: vec![(30, 5), (31, 2)],
        }],
        series: vec![Series { metric: "latency_ticks".to_owned(), values: vec![30.0, 31.0] }],
        trace: vec![],
    }
}

fn segments() -> Vec<Segment> {
    let mut recorder = Recorder::new(Picoseconds(1000));
    recorder.phase("device", "read", (Picoseconds(3), Picoseconds(90)), 0, Some(7));
    recorder.phase("an edge", "x", (Picoseconds(4), Picoseconds(900)), 1, None);
    recorder.begins("tags in use", 0);
    recorder.change("tags in use", Picoseconds(3), 1);
    recorder.into_segments()
}

#[test]
fn traces_are_kept_and_only_in_a_store_of_their_schema() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("traced.db");
    let traced = TestRecord { trace: segments(), ..record(0) };
    let mut plain = Store::create(folder.path().join("plain.db"), &manifest("plain"), false).unwrap();
    let refused = plain.write_test(&traced).unwrap_err().to_string();
    assert!(refused.contains("trace_ns"), "{refused}");
    let mut of_traces = manifest("traced");
    of_traces.set("trace_ns", 1.0);
    let mut store = Store::create(&path, &of_traces, false).unwrap();
    store.write_test(&traced).unwrap();
    drop(store);
    // A resumed run goes on with its schema.
    let mut resumed = Store::open_for_resume(&path).unwrap();
    assert_eq!(resumed.finished.len(), 1);
    resumed.store.write_test(&TestRecord { id: 1, ..traced.clone() }).unwrap();
    resumed.store.close().unwrap();
    let contents = read(&path).unwrap();
    assert_eq!(contents.tests, [traced.clone(), TestRecord { id: 1, ..traced }]);
    Connection::open(&path)
        .unwrap()
        .execute_batch("UPDATE trace SET end_ps = end_ps + 1 WHERE request = 1")
        .unwrap();
    assert!(matches!(read(&path).unwrap_err(), Error::Damaged { .. }));
}

fn title(path: &Path) -> String {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    connection.query_row("SELECT value FROM manifest WHERE key = 'title'", [], |row| row.get(0)).unwrap()
}

pub(super) fn files(folder: &TempDir) -> Vec<String> {
    let names = fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_closed_store_is_one_file_with_everything_in_it() {
    let (folder, path) = folder();
    let mut store = Store::create(&path, &manifest("t"), false).unwrap();
    store.write_test(&record(0)).unwrap();
    store.attach("sys-date.txt", "Tue Jan  5\r\n").unwrap();
    store.close().unwrap();
    assert_eq!(files(&folder), ["run.db"]);

    let connection = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!(mode, "delete");
    let count = |table: &str| -> i64 {
        connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    };
    let counts = ["manifest", "test", "scalar", "distribution", "series", "attachment", "digest"].map(count);
    assert_eq!(counts, [5, 1, 1, 2, 2, 1, 2]);
}

#[test]
fn a_reader_does_not_block_writing_or_closing() {
    let (_folder, path) = folder();
    let mut store = Store::create(&path, &manifest("t"), false).unwrap();
    store.write_test(&record(0)).unwrap();
    let reader = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let tests = || reader.query_row("SELECT count(*) FROM test", [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(tests(), 1);
    store.write_test(&record(1)).unwrap();
    store.close().unwrap();
    assert_eq!(tests(), 2);
}

#[test]
fn an_existing_store_is_kept_without_overwrite() {
    let (folder, path) = folder();
    Store::create(&path, &manifest("old"), false).unwrap().close().unwrap();
    let refused = Store::create(&path, &manifest("new"), false).unwrap_err();
    assert!(matches!(refused, Error::Output(pcie_output::Error::Exists { .. })) && refused.kind().is_some());
    assert!(refused.to_string().contains("run.db: exists already"));
    assert_eq!(title(&path), "\"old\"");
    Store::create(&path, &manifest("new"), true).unwrap().close().unwrap();
    assert_eq!(title(&path), "\"new\"");
    assert_eq!(files(&folder), ["run.db"]);
}

#[test]
fn only_a_store_is_overwritten_by_a_store() {
    let (folder, path) = folder();
    fs::write(&path, "title = 'mine'\n".repeat(20)).unwrap();
    for overwritten in
        [Store::create(&path, &manifest("t"), true), Store::create_beside(&path, &manifest("t"), true)]
    {
        let refused = overwritten.unwrap_err();
        assert!(matches!(refused, Error::NotOverwritten { .. }) && refused.kind().is_some(), "{refused}");
    }
    assert!(fs::read_to_string(&path).unwrap().starts_with("title"));
    fs::write(&path, "").unwrap();
    Store::create(&path, &manifest("t"), true).unwrap().close().unwrap();
    assert_eq!(files(&folder), ["run.db"]);
}

#[test]
fn a_damaged_store_can_be_overwritten() {
    let (folder, path) = folder();
    Store::create(&path, &manifest("old"), false).unwrap().close().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes[100..].fill(0);
    fs::write(&path, bytes).unwrap();
    Store::create(&path, &manifest("new"), true).unwrap().close().unwrap();
    assert_eq!(title(&path), "\"new\"");
    assert_eq!(files(&folder), ["run.db"]);
}

#[test]
fn the_manifest_has_the_number_of_tests_from_the_start() {
    let (folder, path) = folder();
    let refused = Store::create(&path, &Manifest::new(Origin::Rtl), false).unwrap_err();
    assert!(refused.to_string().contains("`tests` is missing"), "{refused}");
    assert!(files(&folder).is_empty());
    let _running = Store::create(&path, &manifest("t"), false).unwrap();
    assert_eq!(crate::read_manifest(&path).unwrap().tests(), Some(2));
}

#[test]
fn a_store_written_beside_its_path_appears_when_closed() {
    let (folder, path) = folder();
    Store::create(&path, &manifest("old"), false).unwrap().close().unwrap();
    let dropped = Store::create_beside(&path, &Manifest::new(Origin::Measured), true).unwrap();
    drop(dropped);
    assert_eq!(files(&folder), ["run.db"]);
    let mut store = Store::create_beside(&path, &Manifest::new(Origin::Measured), true).unwrap();
    store.write_test(&record(0)).unwrap();
    assert_eq!(title(&path), "\"old\"");
    store.close().unwrap();
    let contents = crate::read(&path).unwrap();
    assert_eq!(contents.manifest.tests(), Some(1));
    assert_eq!(contents.tests, [record(0)]);
    assert_eq!(files(&folder), ["run.db"]);
}

#[test]
fn names_are_file_names_even_if_sqlite_reads_them_as_uris() {
    let (folder, _) = folder();
    for name in ["file:other.db", "file:other.db?mode=memory", "a?b=c#d%20e.db"] {
        let path = folder.path().join(name);
        Store::create(&path, &manifest("t"), false).unwrap().close().unwrap();
        assert_eq!(crate::read(&path).unwrap().manifest, manifest("t"));
        fs::remove_file(&path).unwrap();
        assert!(files(&folder).is_empty());
    }
    let memory = Store::create(":memory:", &manifest("t"), false).unwrap_err();
    assert!(memory.to_string().contains("names no file"), "{memory}");
}

#[test]
fn manifest_keys_can_be_set_later() {
    let (_folder, path) = folder();
    let mut store = Store::create(&path, &manifest("t"), false).unwrap();
    store.set_manifest("title", &"other".into()).unwrap();
    store.set_manifest("conditions", &1.into()).unwrap();
    let keys: Vec<_> = crate::read_manifest(&path).unwrap().iter().map(|(key, _)| key.to_owned()).collect();
    assert_eq!(keys, ["format", "version", "origin", "title", "tests", "conditions"]);
    assert_eq!(title(&path), "\"other\"");
}

#[test]
fn attachments_need_plain_file_names() {
    let (_folder, path) = folder();
    let mut store = Store::create(&path, &manifest("t"), false).unwrap();
    for name in ["../victim.toml", "/etc/passwd", "..", "a\0b", "nul"] {
        let attached = store.attach(name, "");
        assert!(matches!(attached, Err(Error::Output(pcie_output::Error::Name { .. }))), "{name}");
    }
}

#[test]
fn refuses_attachments_too_long_to_read_back() {
    let (_folder, path) = folder();
    let mut store = Store::create(&path, &manifest("t"), false).unwrap();
    let refused = store.attach("a", &"x".repeat(64 << 20)).unwrap_err();
    assert!(refused.to_string().contains("has 67108864 bytes: a store keeps texts of 67108864"), "{refused}");
    store.attach("a", &"x".repeat((64 << 20) - 100)).unwrap();
    store.close().unwrap();
    assert_eq!(crate::read(&path).unwrap().attachments[0].1.len(), (64 << 20) - 100);
}

#[test]
fn overwriting_never_touches_a_store_that_another_process_writes() {
    let (folder, path) = folder();
    let mut running = Store::create(&path, &manifest("running"), false).unwrap();
    let refused = Store::create(&path, &manifest("new"), true).unwrap_err();
    assert!(matches!(refused, Error::InUse { .. }), "{refused}");
    assert!(matches!(Store::open_for_resume(&path), Err(Error::InUse { .. })));
    running.write_test(&record(0)).unwrap();
    running.close().unwrap();
    assert_eq!(title(&path), "\"running\"");
    assert_eq!(files(&folder), ["run.db"]);
}

#[test]
fn only_a_regular_file_is_ever_replaced() {
    let folder = TempDir::new().unwrap();
    for path in [folder.path(), Path::new("/dev/null"), Path::new("/dev/stdout")] {
        let refused = Store::create(path, &manifest("t"), true).unwrap_err().to_string();
        assert!(refused.contains("not a regular file"), "{refused}");
    }
}

#[test]
fn errors_name_an_unwritable_path() {
    let (folder, _) = folder();
    let path = folder.path().join("nowhere/run.db");
    let refused = Store::create(&path, &manifest("t"), false).unwrap_err();
    assert!(matches!(refused, Error::Output(pcie_output::Error::Unwritable { .. })));
    assert!(refused.to_string().contains("nowhere/run.db: cannot be written"), "{refused}");
    assert!(files(&folder).is_empty());
}

#[test]
fn refuses_files_that_are_no_store() {
    let (folder, path) = folder();
    assert!(matches!(Store::open_for_resume(&path), Err(Error::Missing { .. })));
    assert!(matches!(Store::open_for_resume(folder.path()), Err(Error::NotAFile { .. })));
    fs::write(&path, "Test,PAT,Cache\n".repeat(100)).unwrap();
    assert!(matches!(Store::open_for_resume(&path), Err(Error::NotAStore { .. })));
    fs::write(&path, "").unwrap();
    assert!(matches!(Store::open_for_resume(&path), Err(Error::NotAStore { .. })));
    fs::remove_file(&path).unwrap();
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE mail (id)").unwrap();
    assert!(matches!(Store::open_for_resume(&path), Err(Error::NotAStore { .. })));
}

#[test]
fn a_newer_schema_is_refused_and_named() {
    let (_folder, path) = folder();
    Store::create(&path, &manifest("t"), false).unwrap().close().unwrap();
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 4).unwrap();
    let refused = Store::open_for_resume(&path).unwrap_err();
    assert!(matches!(refused, Error::NewerSchema { found: 4, known: 3, .. }));
    assert!(refused.to_string().contains("use the version that wrote it"));
}

/// A sound store whose rows were changed afterwards, with the digest of the changed test.
fn resealed(path: &Path, change: &str, changed: &TestRecord) {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch(change).unwrap();
    let digest = crate::digest::of_test(changed);
    connection
        .execute("UPDATE test SET digest = ?1 WHERE id = ?2", (digest, changed.id.cast_signed()))
        .unwrap();
}

#[test]
fn numbers_that_no_test_has_are_refused_by_readers_and_resumers() {
    let (_folder, path) = folder();
    let mut store = Store::create(&path, &manifest("t"), false).unwrap();
    store.write_test(&record(0)).unwrap();
    store.close().unwrap();
    let mut changed = record(0);
    changed.scalars[0].value = 1e308;
    resealed(&path, "UPDATE scalar SET value = 1e308", &changed);
    for refused in [read(&path).unwrap_err(), Store::open_for_resume(&path).unwrap_err()] {
        assert!(matches!(refused, Error::Number { .. }) && refused.kind().is_some());
        let text = refused.to_string();
        let expected = ": test 0 (lat_cmd_sizes LAT_CMD_RD): `median` is 1e308: a store has 0, or 1e-30 to 1e17 ns: \
                        take the store as pcielab wrote it, or make it again";
        assert_eq!(text, format!("{}{expected}", path.display()));
    }
    let refused = Store::create_beside(path.with_extension("new"), &manifest("t"), false)
        .and_then(|mut store| store.write_test(&changed))
        .unwrap_err();
    assert_eq!(refused.to_string(), "test 0: `median` is 1e308: give 0, or 1e-30 to 1e17 ns");
}

#[test]
fn tests_of_two_kinds_are_refused() {
    let (_folder, path) = folder();
    let mut store = Store::create(&path, &manifest("t"), false).unwrap();
    store.write_test(&record(0)).unwrap();
    let flows = r#"{"flows":"[]"}"#.to_owned();
    let other =
        TestRecord { parameters: flows, scalars: vec![], distributions: vec![], series: vec![], ..record(1) };
    store.write_test(&other).unwrap();
    store.close().unwrap();
    let refused = read(&path).unwrap_err().to_string();
    assert!(refused.contains("test 1 is one of flows, but the first one of transfers"), "{refused}");
}

#[test]
fn a_test_is_stored_whole_or_not_at_all() {
    let (_folder, path) = folder();
    let mut store = Store::create(&path, &manifest("t"), false).unwrap();
    let twice = TestRecord { scalars: vec![record(0).scalars[0].clone(); 2], ..record(0) };
    let infinite = TestRecord {
        series: vec![Series { metric: "latency_ticks".to_owned(), values: vec![f64::NAN] }],
        ..record(0)
    };
    let listed = TestRecord { parameters: "[]".to_owned(), ..record(0) };
    let overfull = TestRecord {
        distributions: vec![Distribution { bins: vec![(1, u64::MAX)], ..record(0).distributions[0].clone() }],
        ..record(0)
    };
    for wrong in [twice, infinite, listed, overfull] {
        let refused = store.write_test(&wrong).unwrap_err();
        assert!(matches!(refused, Error::Record { id: 0, .. }), "{refused}");
    }
    store.write_test(&record(0)).unwrap();
    assert!(store.write_test(&record(0)).unwrap_err().to_string().contains("stored as ok"));
    store.attach("a", "1").unwrap();
    assert!(matches!(store.attach("a", "2"), Err(Error::AttachmentExists { .. })));
}

#[test]
fn resuming_keeps_finished_tests_and_replaces_interrupted_ones() {
    let (_folder, path) = folder();
    let mut store = Store::create(&path, &manifest("t"), false).unwrap();
    store.write_test(&TestRecord { status: Status::NotSupported, scalars: vec![], ..record(3) }).unwrap();
    store.write_test(&record(0)).unwrap();
    store.write_test(&TestRecord { status: Status::Interrupted, ..record(1) }).unwrap();
    store.close().unwrap();

    let mut resumed = Store::open_for_resume(&path).unwrap();
    assert_eq!(resumed.finished.iter().copied().collect::<Vec<_>>(), [0, 3]);
    assert_eq!(resumed.manifest, manifest("t"));
    resumed.store.write_test(&record(1)).unwrap();
    resumed.store.close().unwrap();
    assert_eq!(Store::open_for_resume(&path).unwrap().finished.len(), 3);
}

/// The writer that `a_killed_writer_loses_at_most_the_test_in_flight` kills.
#[test]
#[ignore = "writes until it is killed"]
fn endless_writer() {
    let Ok(path) = env::var("PCIE_STORE_ENDLESS") else { return };
    let mut store = Store::create(path, &manifest("killed"), false).unwrap();
    for id in 0.. {
        store.write_test(&record(id)).unwrap();
        println!("{id}");
    }
}

#[test]
fn a_killed_writer_loses_at_most_the_test_in_flight() {
    let (folder, path) = folder();
    let log = fs::File::create(folder.path().join("log")).unwrap();
    let mut writer = Command::new(env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "store::tests::endless_writer"])
        .env("PCIE_STORE_ENDLESS", &path)
        .stdout(Stdio::from(log))
        .spawn()
        .unwrap();
    let reported = || {
        let log = fs::read_to_string(folder.path().join("log")).unwrap();
        log.lines().filter_map(|line| line.parse::<u64>().ok()).max()
    };
    while reported() < Some(20) {
        assert!(writer.try_wait().unwrap().is_none(), "the writer ended by itself");
        sleep(Duration::from_millis(5));
    }
    writer.kill().unwrap();
    writer.wait().unwrap();

    let last = reported().unwrap();
    let resumed = Store::open_for_resume(&path).unwrap();
    let finished: Vec<_> = resumed.finished.iter().copied().collect();
    assert!(finished.len() as u64 > last, "{last} was reported, {} are stored", finished.len());
    assert_eq!(finished, (0..finished.len() as u64).collect::<Vec<_>>());
    assert_eq!(resumed.manifest, manifest("killed"));
    resumed.store.close().unwrap();
    assert_eq!(files(&folder), ["log", "run.db"]);
}

#[test]
fn a_stopped_test_is_not_stored() {
    let (_folder, path) = folder();
    let mut store = Store::create(&path, &manifest("stopped"), false).unwrap();
    let values = vec![1.0; 10_000];
    let long = TestRecord { series: vec![Series { metric: "latency_ticks".into(), values }], ..record(0) };
    assert!(store.write_test_until(&long, Arc::new(|| true)).is_err());
    store.write_test(&long).unwrap();
    store.close().unwrap();
    assert_eq!(read::read(&path).unwrap().tests, [long]);
}
