#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use super::*;
use crate::backend::OpenError;
use crate::device::DeviceError;
use crate::facts::Condition;
use crate::outcome::Outcome;
use crate::run_alone;
use crate::work::{Asked, Worker};
use pcie_store::{Origin, Resumed, Scalar, Store};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// Course of a test of [`Rigged`].
#[derive(Clone, Copy, Debug, PartialEq)]
enum Happens {
    Works,
    Fails,
    FailsForGood,
    IsLost,
    Panics,
    /// Ends on a stop.
    WaitsForTheStop,
    /// Never ends.
    IsSilent,
}

/// Work whose tests take a given course.
struct Rigged {
    tests: Vec<Happens>,
    device: Value,
    jobs_most: usize,
    opened: Mutex<usize>,
    carried_out: Arc<Mutex<Vec<usize>>>,
}

impl Rigged {
    fn new(tests: &[Happens]) -> Self {
        Self {
            tests: tests.to_vec(),
            device: json!({"name": "rig"}),
            jobs_most: 1,
            opened: Mutex::default(),
            carried_out: Arc::default(),
        }
    }
}

impl Work for Rigged {
    fn suite(&self) -> &str {
        "rigged"
    }

    fn tests(&self) -> Result<Arc<[Asked]>, serde_json::Error> {
        let asked = |position: usize| Asked {
            family: "family".into(),
            name: format!("TEST_{position}"),
            parameters: json!({"position": position}),
        };
        Ok((0..self.tests.len()).map(asked).collect())
    }

    fn origin(&self) -> Origin {
        Origin::Emulated
    }

    fn manifest(&self) -> Map<String, Value> {
        Map::from_iter([("backend".to_owned(), json!({"kind": "rigged"}))])
    }

    fn jobs_most(&self) -> usize {
        self.jobs_most
    }

    fn attachments(&self) -> Vec<(String, String)> {
        vec![("rig.txt".into(), "as it stands".into())]
    }

    fn open(&self) -> Result<Box<dyn Worker>, OpenError> {
        *self.opened.lock().unwrap() += 1;
        Ok(Box::new(Rig {
            tests: self.tests.clone(),
            device: self.device.clone(),
            carried_out: Arc::clone(&self.carried_out),
        }))
    }
}

struct Rig {
    tests: Vec<Happens>,
    device: Value,
    carried_out: Arc<Mutex<Vec<usize>>>,
}

impl Worker for Rig {
    fn identity(&self) -> Map<String, Value> {
        Map::from_iter([
            ("device".to_owned(), self.device.clone()),
            ("host".to_owned(), json!({"name": "here"})),
        ])
    }

    fn conditions(&mut self) -> Vec<Condition> {
        vec![Condition::new("temperature", "C", Some(40.0)), Condition::new("clock", "MHz", None)]
    }

    fn deadline(&self) -> Option<Duration> {
        // Only a silent rig may miss its deadline, however busy the machine.
        let is_silent = self.tests.contains(&Happens::IsSilent);
        Some(if is_silent { Duration::from_millis(300) } else { Duration::from_secs(600) })
    }

    fn carry_out(&mut self, position: usize, stop: &Stop, pulse: &Pulse) -> Result<Outcome, DeviceError> {
        self.carried_out.lock().unwrap().push(position);
        match self.tests[position] {
            Happens::Works => Ok(Outcome {
                status: Status::Ok,
                message: None,
                scalars: vec![Scalar {
                    subject: String::new(),
                    metric: "transactions".into(),
                    unit: "1".into(),
                    value: position as f64,
                }],
                distributions: vec![],
                series: vec![],
            }),
            Happens::Fails | Happens::FailsForGood => Err(DeviceError::Failed("it smells burnt".into())),
            Happens::IsLost => Err(DeviceError::Lost("nobody answers".into())),
            // Without the panic hook, which may be slow to print a trace.
            Happens::Panics => std::panic::resume_unwind(Box::new("as rigged")),
            Happens::WaitsForTheStop => {
                while !stop.wait(Duration::from_millis(100)) {
                    pulse.beat();
                }
                Ok(Outcome::interrupted("stopped"))
            }
            Happens::IsSilent => loop {
                std::thread::park();
            },
        }
    }

    fn recover(&mut self) -> Result<(), DeviceError> {
        let last = *self.carried_out.lock().unwrap().last().unwrap();
        match self.tests[last] {
            Happens::FailsForGood => Err(DeviceError::Failed("no reset helped".into())),
            _ => Ok(()),
        }
    }
}

fn new_path() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run.db");
    (directory, path)
}

fn try_run(work: Rigged, path: &Path, resume: bool) -> Result<(), RunError> {
    if resume {
        drop(settled(path));
    }
    run_with(Arc::new(work), 1, resume, path, &mut |_| ControlFlow::Continue(()))
}

fn run_with(
    work: Arc<Rigged>,
    jobs: usize,
    resume: bool,
    path: &Path,
    progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<(), RunError> {
    let options = Options { jobs, resume, repeat_damaged: false, overwrite: false, only: None };
    run(work, options, path, Manifest::new(Origin::Emulated), progress)
}

/// A run that was ended does not wait for a slow disk: its recorder may still be closing the store. Another
/// thread closes it for certain, so that this has no deadline.
fn settled(path: &Path) -> Resumed {
    loop {
        match Store::open_for_resume(path) {
            Err(pcie_store::Error::InUse { .. }) => std::thread::sleep(TICK),
            opened => return opened.unwrap(),
        }
    }
}

fn finished(path: &Path) -> Vec<u64> {
    settled(path).finished.into_iter().collect()
}

#[test]
fn worker_is_opened_once_and_identified_in_the_manifest() {
    let (_directory, path) = new_path();
    let work = Arc::new(Rigged::new(&[Happens::Works, Happens::Works]));
    run_with(Arc::clone(&work), 1, false, &path, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(*work.opened.lock().unwrap(), 1);
    let manifest = Store::open_for_resume(&path).unwrap().manifest;
    let text = |key: &str| manifest.get(key).map(Value::to_string).unwrap_or_default();
    assert_eq!(text("backend"), r#"{"kind":"rigged"}"#);
    assert_eq!((text("device"), text("host")), (r#"{"name":"rig"}"#.into(), r#"{"name":"here"}"#.into()));
    let conditions =
        r#"[{"metric":"temperature","unit":"C","value":40.0},{"metric":"clock","unit":"MHz","value":null}]"#;
    assert_eq!(
        (text("conditions_before").as_str(), text("conditions_after").as_str()),
        (conditions, conditions)
    );
}

#[test]
fn a_failure_is_recorded_and_the_run_goes_on() {
    let (_directory, path) = new_path();
    try_run(Rigged::new(&[Happens::Works, Happens::Fails, Happens::Works]), &path, false).unwrap();
    assert_eq!(finished(&path), [0, 1, 2]);
}

#[test]
fn a_lost_device_ends_the_run_and_its_test_is_done_again() {
    for (happens, reason) in [
        (Happens::IsLost, "nobody answers"),
        (Happens::Panics, "worker panicked"),
        (Happens::FailsForGood, "no reset helped"),
    ] {
        let (_directory, path) = new_path();
        let error =
            try_run(Rigged::new(&[Happens::Works, happens, Happens::Works]), &path, false).unwrap_err();
        let message = error.to_string();
        assert!(message.starts_with("rig was lost") && message.contains(reason), "{message}");
        let expected: &[u64] = if happens == Happens::FailsForGood { &[0, 1] } else { &[0] };
        assert_eq!(finished(&path), expected, "{happens:?}");
        try_run(Rigged::new(&[Happens::Works; 3]), &path, true).unwrap();
        assert_eq!(finished(&path), [0, 1, 2]);
    }
}

#[test]
fn a_silent_device_is_given_up_at_its_deadline() {
    let (_directory, path) = new_path();
    // The first test is done beforehand: on a busy machine, it could miss the deadline of the silent one.
    try_run(Rigged::new(&[Happens::Works, Happens::IsLost, Happens::Works]), &path, false).unwrap_err();
    let silent = Rigged::new(&[Happens::Works, Happens::IsSilent, Happens::Works]);
    // That the run ends shows that it gave up: the device never answers.
    let message = try_run(silent, &path, true).unwrap_err().to_string();
    assert!(message.starts_with("rig did not answer for ") && message.contains("TEST_1"), "{message}");
    assert_eq!(finished(&path), [0]);
}

#[test]
fn stop_ends_the_run() {
    for happens in [Happens::WaitsForTheStop, Happens::IsSilent] {
        let (_directory, path) = new_path();
        // The rigs end on the stop alone, or never.
        let work = Arc::new(Rigged::new(&[Happens::Works, happens]));
        let error = run_with(work, 1, false, &path, &mut |state| {
            if state.done == 1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap_err();
        assert!(matches!(error, RunError::Interrupted { done: 1, total: 2 }), "{error}");
        assert_eq!(finished(&path), [0]);
    }
}

#[test]
fn resume_skips_finished_tests_and_refuses_other_devices() {
    let (_directory, path) = new_path();
    try_run(Rigged::new(&[Happens::Works; 2]), &path, false).unwrap();
    let again = Rigged::new(&[Happens::Works; 2]);
    let carried_out = Arc::clone(&again.carried_out);
    try_run(again, &path, true).unwrap();
    assert!(carried_out.lock().unwrap().is_empty());
    let other =
        Rigged { device: json!({"name": "rig", "firmware": "2"}), ..Rigged::new(&[Happens::Works; 2]) };
    let message = try_run(other, &path, true).unwrap_err().to_string();
    assert!(
        message.contains("device.firmware is \"2\": the store has none: give the same to --resume"),
        "{message}"
    );
}

#[test]
fn a_part_of_a_suite_is_completed_by_a_resumed_run() {
    let (_directory, path) = new_path();
    let only = Some(BTreeSet::from([1]));
    let options = Options { jobs: 1, resume: false, repeat_damaged: false, overwrite: false, only };
    let work = Arc::new(Rigged::new(&[Happens::Works; 3]));
    run(work, options, &path, Manifest::new(Origin::Emulated), &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(finished(&path), [1]);
    try_run(Rigged::new(&[Happens::Works; 3]), &path, true).unwrap();
    assert_eq!(finished(&path), [0, 1, 2]);
}

#[test]
fn more_jobs_than_benches_are_refused() {
    let (_directory, path) = new_path();
    let work = Arc::new(Rigged::new(&[Happens::Works]));
    let result = run_with(work, 4, false, &path, &mut |_| ControlFlow::Continue(()));
    let message = result.unwrap_err().to_string();
    assert_eq!(message, "jobs is 4: rigged carries out 1 at a time: give 1 or fewer");
    assert!(!path.exists());
}

#[test]
fn slow_store_limits_waiting_results_and_does_not_delay_a_stop() {
    let (_directory, path) = new_path();
    // More tests than can be written before the lock is taken, however late that is.
    let work = Rigged::new(&[Happens::Works; 20_000]);
    let carried_out = Arc::clone(&work.carried_out);
    let mut lock = None;
    let result = run_with(Arc::new(work), 1, false, &path, &mut |state| {
        // Another connection locks the database as soon as it contains a test.
        if state.done >= 1 && lock.is_none() {
            let other = rusqlite::Connection::open(&path).unwrap();
            other.execute_batch("BEGIN IMMEDIATE; UPDATE test SET message = 'held';").unwrap();
            lock = Some((other, Instant::now()));
        }
        match &lock {
            Some((_, since)) if since.elapsed() > Duration::from_millis(500) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    // The run ends although the store is still locked.
    assert!(matches!(result.unwrap_err(), RunError::Interrupted { .. }));
    // One result each in the recorder, the channel and the job; some were written before the lock was taken.
    let (connection, _) = lock.unwrap();
    let written: i64 = connection.query_row("SELECT count(*) FROM test", [], |row| row.get(0)).unwrap();
    let done = carried_out.lock().unwrap().len();
    assert!(done as i64 <= written + 3, "{done} done, {written} written");
}

#[test]
fn run_alone_returns_the_record_of_a_run() {
    for happens in [Happens::Works, Happens::Fails] {
        let (_directory, path) = new_path();
        try_run(Rigged::new(&[happens]), &path, false).unwrap();
        let alone = run_alone(&Rigged::new(&[happens]), &Stop::default()).unwrap();
        assert_eq!(pcie_store::read(&path).unwrap().tests, [alone], "{happens:?}");
    }
    let message = run_alone(&Rigged::new(&[Happens::Works; 2]), &Stop::default()).unwrap_err().to_string();
    assert!(message.starts_with("2 tests"), "{message}");
}
