//! Reading of stores, with each part checked against its digest.

use std::path::Path;

use rusqlite::{Connection, Row, Statement, Transaction};
use serde_json::{Map, Value};

use crate::damage::Damage;
use crate::digest;
use crate::error::{Error, Result};
use crate::file;
use crate::guard::{self, Allowance, Stop};
use crate::manifest::Manifest;
use crate::metrics::Kind;
use crate::numbers::{Known, WrongNumber, wrong_number};
use crate::record::{Distribution, Scalar, Series, Status, TestRecord};
use crate::schema::{OLDEST_SCHEMA_VERSION, TRACED_SCHEMA_VERSION};
use pcie_trace::{Segment, Text};

/// Everything in a store.
#[derive(Debug, Clone, PartialEq)]
pub struct Contents {
    /// The manifest.
    pub manifest: Manifest,
    /// Tests in suite order; scalars ordered by subject and metric, distributions and series by metric.
    pub tests: Vec<TestRecord>,
    /// Attached texts by name.
    pub attachments: Vec<(String, String)>,
}

impl Contents {
    /// The kind of the tests, which are all of one; of transfers if there are none.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.tests.first().and_then(TestRecord::kind).unwrap_or(Kind::Transfers)
    }
}

/// Reads all of a store; also while it is being written, or after a killed run.
///
/// # Errors
/// [`Error::Missing`], [`Error::NotAStore`] and others if it is no store; [`Error::Unrecovered`] if this
/// process may not recover it after a killed writer; [`Error::Damaged`] if any part is not as it was written;
/// [`Error::Mixed`] or [`Error::Number`] if a test is of another kind than the first, or has a number that no test
/// of its kind has.
pub fn read(path: impl AsRef<Path>) -> Result<Contents> {
    read_until(path, guard::never())
}

/// [`read`] until `stop` is true, which is then [`Error::Endless`].
pub fn read_until(path: impl AsRef<Path>, stop: Stop) -> Result<Contents> {
    let path = path.as_ref();
    let (connection, schema) = file::open_to_read(path, stop)?;
    let (contents, damage) = examine(&connection, path, schema)?;
    if damage.is_empty() { Ok(contents) } else { Err(Error::Damaged { path: path.to_owned(), damage }) }
}

/// Reads only the manifest of a store, with the errors of [`read`].
pub fn read_manifest(path: impl AsRef<Path>) -> Result<Manifest> {
    read_manifest_until(path, guard::never())
}

/// [`read_manifest`] until `stop` is true, which is then [`Error::Endless`].
pub fn read_manifest_until(path: impl AsRef<Path>, stop: Stop) -> Result<Manifest> {
    let path = path.as_ref();
    let (connection, schema) = file::open_to_read(path, stop)?;
    let reader = Reader::new(&connection, path, schema)?;
    reader.manifest()?.ok_or_else(|| reader.damaged(Damage::Manifest))
}

/// All intact contents, and the damage. An error only if the file as a whole or the manifest is damaged.
pub(crate) fn examine(connection: &Connection, path: &Path, schema: i64) -> Result<(Contents, Vec<Damage>)> {
    let reader = Reader::new(connection, path, schema)?;
    if let Some(cause) = reader.complaint_of_sqlite()? {
        return Err(reader.damaged(Damage::File(cause)));
    }
    let manifest = reader.manifest()?.ok_or_else(|| reader.damaged(Damage::Manifest))?;
    let mut damage = Vec::new();
    let tests = reader.tests(&mut damage)?;
    reader.strays(&tests, &mut damage)?;
    let attachments = reader.attachments()?.unwrap_or_else(|| {
        damage.push(Damage::Attachments);
        Vec::new()
    });
    Ok((Contents { manifest, tests, attachments }, damage))
}

/// A snapshot of a store: all queries see the same state.
struct Reader<'a> {
    transaction: Transaction<'a>,
    path: &'a Path,
    schema: i64,
    /// Limit on all that is read.
    allowance: Allowance,
}

impl<'a> Reader<'a> {
    fn new(connection: &'a Connection, path: &'a Path, schema: i64) -> Result<Self> {
        let transaction = connection.unchecked_transaction().map_err(|source| file::failed(path, source))?;
        // The first query fixes the snapshot; the file only grows after it.
        transaction
            .query_row("SELECT 1 FROM sqlite_schema LIMIT 1", [], |_| Ok(()))
            .map_err(|source| file::failed(path, source))?;
        let allowance = Allowance::of(guard::bytes_of(path));
        Ok(Self { transaction, path, schema, allowance })
    }

    fn damaged(&self, damage: Damage) -> Error {
        Error::Damaged { path: self.path.to_owned(), damage: vec![damage] }
    }

    /// None if the data read are damaged, an error if reading itself failed.
    fn unless_damaged<T>(&self, found: rusqlite::Result<T>) -> Result<Option<T>> {
        use rusqlite::ErrorCode as Code;
        let source = match found {
            Ok(value) => return Ok(Some(value)),
            Err(source) => source,
        };
        match source.sqlite_error_code() {
            None
            | Some(
                Code::DatabaseCorrupt
                | Code::NotADatabase
                | Code::Unknown
                | Code::TypeMismatch
                | Code::TooBig,
            ) => Ok(None),
            Some(Code::SystemIoFailure) if is_short_read(&source) => Ok(None),
            Some(_) => Err(file::failed(self.path, source)),
        }
    }

    fn has_digests(&self) -> bool {
        self.schema > OLDEST_SCHEMA_VERSION
    }

    fn has_traces(&self) -> bool {
        self.schema == TRACED_SCHEMA_VERSION
    }

    /// Result of SQLite's own check, for a store without digests.
    fn complaint_of_sqlite(&self) -> Result<Option<String>> {
        if self.has_digests() {
            return Ok(None);
        }
        let checked =
            self.transaction.query_row("PRAGMA integrity_check(1)", [], |row| row.get::<_, String>(0));
        let complaint = self.unless_damaged(checked)?.unwrap_or_else(|| "it cannot be read".to_owned());
        Ok((complaint != "ok").then_some(complaint))
    }

    /// The manifest; None if it is damaged.
    fn manifest(&self) -> Result<Option<Manifest>> {
        let Some(rows) = self.texts("SELECT key, value FROM manifest ORDER BY rowid", "manifest")? else {
            return Ok(None);
        };
        let entries: Option<Map<_, _>> = rows
            .into_iter()
            .map(|(key, text)| Some((key, serde_json::from_str::<Value>(&text).ok()?)))
            .collect();
        Ok(entries.map(Manifest::stored))
    }

    /// The attachments; None if they are damaged.
    fn attachments(&self) -> Result<Option<Vec<(String, String)>>> {
        self.texts("SELECT name, content FROM attachment ORDER BY name", "attachments")
    }

    /// The rows of a table of two text columns; None if they do not match the digest of `part`.
    fn texts(&self, query: &str, part: &str) -> Result<Option<Vec<(String, String)>>> {
        let rows = self.transaction.prepare(query).and_then(|mut statement| {
            let pair = |row: &Row| {
                let (first, second): (String, String) = (row.get(0)?, row.get(1)?);
                self.allowance.row(&[&first, &second])?;
                Ok((first, second))
            };
            statement.query_map([], pair)?.collect::<rusqlite::Result<Vec<_>>>()
        });
        let Some(rows) = self.unless_damaged(rows)? else { return Ok(None) };
        if !self.has_digests() {
            return Ok(Some(rows));
        }
        let stored =
            self.transaction.query_row("SELECT digest FROM digest WHERE part = ?1", [part], |row| row.get(0));
        let stored: Option<String> = self.unless_damaged(stored)?;
        let found = digest::of_texts(rows.iter().map(|(first, second)| (first.as_str(), second.as_str())));
        Ok((stored == Some(found)).then_some(rows))
    }

    /// The intact tests; the others are added to `damage`.
    fn tests(&self, damage: &mut Vec<Damage>) -> Result<Vec<TestRecord>> {
        let ids = self.transaction.prepare("SELECT id FROM test ORDER BY id").and_then(|mut statement| {
            let id = |row: &Row| self.allowance.row(&[]).and_then(|()| row.get(0));
            statement.query_map([], id)?.collect::<rusqlite::Result<Vec<i64>>>()
        });
        let unreadable = || self.damaged(Damage::File("its list of tests cannot be read".to_owned()));
        // If a page is lost, SQLite may return the same row repeatedly.
        let ids = self.unless_damaged(ids)?.filter(|ids| ids.is_sorted_by(|one, next| one < next));
        let ids = ids.ok_or_else(unreadable)?;
        let queries = Queries::prepare(&self.transaction, self.has_digests(), self.has_traces());
        let mut queries = self.unless_damaged(queries)?.ok_or_else(unreadable)?;
        let mut tests = Vec::with_capacity(ids.len());
        let (mut first, mut known) = (None, Known::default());
        for id in ids {
            let found = self.unless_damaged(queries.test(id, &self.allowance))?;
            let kind = found.as_ref().and_then(|(test, stored)| kind_as_written(test, stored.as_deref()));
            match (found, kind) {
                (Some((test, _)), Some(kind)) => {
                    self.check(&test, kind, *first.get_or_insert(kind), &mut known)?;
                    tests.push(test);
                }
                (found, _) => {
                    let name = found
                        .map_or_else(String::new, |(test, _)| format!(" ({} {})", test.family, test.name));
                    damage.push(Damage::Test { id, name });
                }
            }
        }
        Ok(tests)
    }

    /// Refuses an intact test of another kind than the `first`, or with numbers that none of its kind has.
    fn check(&self, test: &TestRecord, kind: Kind, first: Kind, known: &mut Known) -> Result<()> {
        let path = self.path.to_owned();
        if kind != first {
            return Err(Error::Mixed { path, id: test.id, kind, first });
        }
        match wrong_number(test, kind, known) {
            Some(WrongNumber { part, found, expected }) => {
                let test = format!("{} ({} {})", test.id, test.family, test.name);
                Err(Error::Number { path, test, part, found, expected })
            }
            None => Ok(()),
        }
    }

    /// Adds rows without a test to `damage`, unless they may belong to damaged tests.
    fn strays(&self, tests: &[TestRecord], damage: &mut Vec<Damage>) -> Result<()> {
        if !damage.is_empty() {
            return Ok(());
        }
        let read: [(_, usize); 4] = [
            ("scalar", tests.iter().map(|test| test.scalars.len()).sum()),
            ("distribution", tests.iter().flat_map(|test| &test.distributions).map(|of| of.bins.len()).sum()),
            ("series", tests.iter().flat_map(|test| &test.series).map(|of| of.values.len()).sum()),
            ("trace", tests.iter().map(|test| test.trace.len()).sum()),
        ];
        for (table, read) in &read[..if self.has_traces() { 4 } else { 3 }] {
            // Not count(*): SQLite checks the limit on work between rows, but not within it.
            let counted = format!("SELECT coalesce(sum(1), 0) FROM {table}");
            let rows = self.transaction.query_row(&counted, [], |row| row.get(0));
            if self.unless_damaged::<i64>(rows)?.is_none_or(|rows| rows.cast_unsigned() != *read as u64) {
                damage.push(Damage::Strays(table));
            }
        }
        Ok(())
    }
}

/// True if SQLite met the end of the file too early.
fn is_short_read(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error(), Some(failure) if failure.extended_code == rusqlite::ffi::SQLITE_IOERR_SHORT_READ)
}

/// The kind of a test that is as it was written, else None.
fn kind_as_written(test: &TestRecord, stored: Option<&str>) -> Option<Kind> {
    test.kind().filter(|_| stored.is_none_or(|stored| digest::of_test(test) == stored))
}

/// Queries for a test and its results.
struct Queries<'a> {
    test: Statement<'a>,
    scalars: Statement<'a>,
    bins: Statement<'a>,
    series: Statement<'a>,
    /// None in a schema without traces.
    trace: Option<Statement<'a>>,
}

impl<'a> Queries<'a> {
    fn prepare(connection: &'a Connection, with_digest: bool, with_trace: bool) -> rusqlite::Result<Self> {
        let trace = r#"SELECT "index", kind, lane, name, start_ps, end_ps, request, tag, address, bytes, value FROM trace
            WHERE test = ?1 ORDER BY "index""#;
        let digest = if with_digest { "digest" } else { "NULL" };
        Ok(Self {
            test: connection.prepare(&format!(
                "SELECT family, name, parameters, status, message, {digest} FROM test WHERE id = ?1"
            ))?,
            scalars: connection.prepare(
                "SELECT subject, metric, unit, value FROM scalar WHERE test = ?1 ORDER BY subject, metric",
            )?,
            bins: connection.prepare(
                "SELECT metric, tick, bin, count FROM distribution WHERE test = ?1 ORDER BY metric, bin",
            )?,
            series: connection.prepare(
                r#"SELECT metric, "index", value FROM series WHERE test = ?1 ORDER BY metric, "index""#,
            )?,
            trace: with_trace.then(|| connection.prepare(trace)).transpose()?,
        })
    }

    /// A test, and its stored digest if the schema has digests.
    fn test(&mut self, id: i64, allowance: &Allowance) -> rusqlite::Result<(TestRecord, Option<String>)> {
        let (mut test, stored) = self.test.query_row([id], |row| test_of(id, row))?;
        let texts = [&test.family, &test.name, &test.parameters, test.message.as_deref().unwrap_or_default()];
        allowance.row(&texts)?;
        let scalar = |row: &Row| {
            let scalar = scalar_of(row)?;
            allowance.row(&[&scalar.subject, &scalar.metric, &scalar.unit])?;
            Ok(scalar)
        };
        test.scalars = self.scalars.query_map([id], scalar)?.collect::<rusqlite::Result<_>>()?;
        let mut rows = self.bins.query([id])?;
        while let Some(row) = rows.next()? {
            let (metric, tick): (String, String) = (row.get(0)?, row.get(1)?);
            allowance.row(&[&metric, &tick])?;
            let pair = (row.get(2)?, row.get::<_, i64>(3)?.cast_unsigned());
            match test.distributions.last_mut() {
                Some(last) if last.metric == metric && last.tick == tick => last.bins.push(pair),
                _ => test.distributions.push(Distribution { metric, tick, bins: vec![pair] }),
            }
        }
        let mut rows = self.series.query([id])?;
        while let Some(row) = rows.next()? {
            let (metric, index, value): (String, i64, f64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            allowance.row(&[&metric])?;
            match test.series.last_mut() {
                Some(last) if last.metric == metric && i64::try_from(last.values.len()) == Ok(index) => {
                    last.values.push(value);
                }
                _ if index == 0 => test.series.push(Series { metric, values: vec![value] }),
                _ => return Err(rusqlite::Error::IntegralValueOutOfRange(1, index)),
            }
        }
        if let Some(trace) = &mut self.trace {
            let mut rows = trace.query([id])?;
            while let Some(row) = rows.next()? {
                let index: i64 = row.get(0)?;
                if i64::try_from(test.trace.len()) != Ok(index) {
                    return Err(rusqlite::Error::IntegralValueOutOfRange(1, index));
                }
                let segment = segment_of(row)?;
                allowance.row(&[&segment.lane, &segment.name])?;
                test.trace.push(segment);
            }
        }
        Ok((test, stored))
    }
}

/// A name: one that simulators know takes no memory.
fn named(text: &str) -> Text {
    let known = pcie_trace::lane::ALL.into_iter().chain(["MRd", "MWr", "CplD"]).find(|known| *known == text);
    known.map_or_else(|| Text::Owned(text.to_owned()), Text::Borrowed)
}

fn segment_of(row: &Row) -> rusqlite::Result<Segment> {
    let wrong = |column| rusqlite::Error::IntegralValueOutOfRange(column, -1);
    let word = row.get_ref(1)?.as_str()?.to_owned();
    let kind = pcie_trace::Kind::from_word(&word)
        .ok_or_else(|| rusqlite::Error::InvalidColumnType(1, word, rusqlite::types::Type::Text))?;
    let number =
        |column| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(column)?.map(i64::cast_unsigned));
    Ok(Segment {
        kind,
        lane: named(row.get_ref(2)?.as_str()?),
        name: named(row.get_ref(3)?.as_str()?),
        start_ps: u64::try_from(row.get::<_, i64>(4)?).map_err(|_| wrong(4))?,
        end_ps: u64::try_from(row.get::<_, i64>(5)?).map_err(|_| wrong(5))?,
        request: number(6)?,
        tag: number(7)?.map(u32::try_from).transpose().map_err(|_| wrong(7))?,
        address: number(8)?,
        bytes: number(9)?,
        value: row.get(10)?,
    })
}

fn test_of(id: i64, row: &Row) -> rusqlite::Result<(TestRecord, Option<String>)> {
    let word: String = row.get(3)?;
    let status = Status::from_word(&word)
        .ok_or_else(|| rusqlite::Error::InvalidColumnType(3, word, rusqlite::types::Type::Text))?;
    let test = TestRecord {
        id: id.cast_unsigned(),
        family: row.get(0)?,
        name: row.get(1)?,
        parameters: row.get(2)?,
        status,
        message: row.get(4)?,
        scalars: vec![],
        distributions: vec![],
        series: vec![],
        trace: vec![],
    };
    Ok((test, row.get(5)?))
}

fn scalar_of(row: &Row) -> rusqlite::Result<Scalar> {
    Ok(Scalar { subject: row.get(0)?, metric: row.get(1)?, unit: row.get(2)?, value: row.get(3)? })
}
