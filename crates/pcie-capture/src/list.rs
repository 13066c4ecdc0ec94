//! Lists with a line of column names: CSV of protocol analysers, and fields of dissectors (`tshark -T fields -E header=y`).
//!
//! Columns are found by their names; a list in other words names them in the options. Cells are separated by the
//! commas, tabs or semicolons of the line of names.

use crate::event::Facts;
use crate::fields::{Field, Origin, Row};
use crate::format::{Format, Options};
use crate::input::{End, Input, Take, ended, give, malformed};
use crate::words;
use pcie_refusal::{Kind, Refusal};

const SEPARATORS: [u8; 3] = *b",\t;";
const COLUMNS_MOST: usize = 4096;

/// A column that is read.
struct Column {
    field: Field,
    name: String,
    unit: Option<i32>,
}

/// The cells of a line; quotes are taken off.
pub(crate) fn cells(line: &str, separator: u8) -> impl Iterator<Item = &str> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let line = rest?;
        let mut quoted = false;
        let end = line.bytes().position(|byte| {
            quoted ^= byte == b'"';
            byte == separator && !quoted
        });
        let cell = end.map_or(line, |end| &line[..end]);
        rest = end.map(|end| &line[end + 1..]);
        let cell = cell.trim();
        Some(cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"')).unwrap_or(cell))
    })
}

/// The separator of a line of names: the one that makes most cells.
fn separator(line: &str) -> u8 {
    let count = |separator: &u8| line.bytes().filter(|byte| byte == separator).count();
    SEPARATORS.into_iter().max_by_key(|separator| (count(separator), *separator == b',')).unwrap_or(b',')
}

/// Whether a line is one of column names.
pub(crate) fn is_header(line: &str) -> bool {
    let known = cells(line, separator(line)).take(COLUMNS_MOST).filter_map(Field::named);
    let mut fields: Vec<Field> = known.collect();
    fields.sort_unstable();
    fields.dedup();
    fields.len() >= 3 && fields.contains(&Field::Type)
}

/// The exponent of ten of a unit that a column's name ends with: `time_ps`, `Time (ns)`.
fn unit_in(name: &str) -> Option<i32> {
    let name = name.trim().trim_end_matches([')', ']']);
    let word = name.rsplit(['(', '[', '_', ' ', '/']).next()?;
    words::unit(word).filter(|_| word.len() < name.len())
}

/// The columns to read.
fn columns(line: &str, separator: u8, options: &Options) -> Result<Vec<Option<Column>>, Refusal> {
    let names: Vec<&str> = cells(line, separator).take(COLUMNS_MOST).collect();
    let listed = || names.iter().take(40).map(|name| format!("{name:.40}")).collect::<Vec<_>>().join(", ");
    for (field, wanted) in &options.columns {
        if !names.contains(&wanted.as_str()) {
            return Err(Refusal::of(
                "column",
                format!("{}={wanted}", field.word()),
                "give one of the file's columns",
            )
            .problem(format!("the columns are {listed}", listed = listed()))
            .kind(Kind::NotFound));
        }
    }
    let default = options.time_unit.as_deref().and_then(words::unit);
    let mut columns: Vec<Option<Column>> = Vec::new();
    for name in &names {
        let said = options.columns.iter().find(|(_, wanted)| wanted == name).map(|(field, _)| *field);
        let field = said.or_else(|| {
            Field::named(name).filter(|field| !options.columns.iter().any(|(said, _)| said == field))
        });
        let several = [Field::Type, Field::Tag, Field::Sequence, Field::Record];
        if let Some(field) = field
            && let Some(Some(other)) =
                columns.iter().find(|known| known.as_ref().is_some_and(|known| known.field == field))
            && !several.contains(&field)
        {
            let problem = format!("both {:.40} and {name:.40} may be the {}", other.name, field.word());
            return Err(Refusal::new(problem).kind(Kind::Conflict).remedy(format!(
                "name one (--column {}=NAME) of {}",
                field.word(),
                listed()
            )));
        }
        let seconds = name.starts_with("frame.time").then_some(12);
        let unit = unit_in(name).or(default).or(seconds);
        columns.push(field.map(|field| Column { field, name: (*name).to_owned(), unit }));
    }
    if !columns.iter().flatten().any(|column| column.field == Field::Type) {
        return Err(Refusal::new("no column of packet types")
            .kind(Kind::Missing)
            .remedy(format!("name it (--column type=NAME): the columns are {}", listed())));
    }
    let has = |name: &str| names.iter().any(|known| words::plain(known) == name);
    if has("flags") && has("count") && has("first") && has("last") {
        // The protocol table of ngscopeclient: lengths in bytes.
        for column in columns.iter_mut().flatten().filter(|column| column.field == Field::Length) {
            column.field = Field::LengthBytes;
        }
    }
    Ok(columns)
}

/// Reads a list.
pub(crate) fn read(mut input: Input<'_>, options: &Options, take: Take<'_>) -> Result<Facts, Refusal> {
    let mut facts = Facts { format: Format::List.word().to_owned(), ..Facts::default() };
    let result = rows(&mut input, options, take, &mut facts);
    ended(result, facts)
}

fn rows(input: &mut Input<'_>, options: &Options, take: Take<'_>, facts: &mut Facts) -> Result<(), End> {
    let (separator, columns) = loop {
        let Some(line) = input.line()? else {
            return Err(Refusal::new("no line of column names")
                .kind(Kind::Missing)
                .remedy("give a list whose first lines name its columns, a type among them")
                .into());
        };
        let line = String::from_utf8_lossy(line).into_owned();
        let line = line.trim_start_matches('\u{feff}');
        let is_named = !options.columns.is_empty()
            && options.columns.iter().all(|(_, name)| cells(line, separator(line)).any(|cell| cell == name));
        if is_header(line) || is_named {
            break (separator(line), columns(line, separator(line), options)?);
        }
        if options.format == Some(Format::List) && input.line_number() == 1 && separator_count(line) > 1 {
            break (separator(line), columns(line, separator(line), options)?);
        }
        stated(line, facts);
    };
    let (mut origin, mut events) = (Origin::default(), 0_u64);
    while let Some(line) = input.line()? {
        let line = String::from_utf8_lossy(line).into_owned();
        if line.trim().is_empty() {
            continue;
        }
        let mut row = Row::default();
        let mut wrong = None;
        for (cell, column) in cells(&line, separator).zip(&columns) {
            let Some(column) = column else { continue };
            if row.set(column.field, cell, column.unit).is_none() && wrong.is_none() {
                wrong = Some((column, cell.to_owned()));
            }
        }
        if row.is_typed()
            && let Some((column, cell)) = wrong
        {
            let name: String = column.name.chars().take(40).collect();
            return Err(wrong_cell(&input.in_line(), &name, column.field, &cell, column.unit).into());
        }
        let record = input.line_number();
        match row.event(record, facts) {
            Some(mut event) => {
                event.time_ps = origin.since(event.time_ps, options.first_time_ps);
                events += 1;
                give(take, event)?;
            }
            None => facts.skip("row of another type", record),
        }
    }
    if events == 0 {
        let problem = "no row has the type of a TLP or DLLP";
        return Err(Refusal::new(problem)
            .kind(Kind::Missing)
            .remedy("name the column of types (--column type=NAME)")
            .into());
    }
    Ok(())
}

fn separator_count(line: &str) -> usize {
    line.bytes().filter(|byte| SEPARATORS.contains(byte)).count()
}

/// The refusal of a cell.
fn wrong_cell(at: &str, name: &str, field: Field, cell: &str, unit: Option<i32>) -> Refusal {
    let problem = format!("{name} is {cell:.60?}, which is no {}", field.word());
    let remedy = if field == Field::Time && unit.is_none() {
        "give the unit of its times (--time-unit ns)"
    } else {
        "correct it, or name another column (--column FIELD=NAME)"
    };
    malformed(at, problem).remedy(remedy)
}

/// What a comment line of this crate's own lists says.
pub(crate) fn stated(line: &str, facts: &mut Facts) {
    let Some(comment) = line.strip_prefix('#') else { return };
    for pair in comment.split_whitespace() {
        match pair.split_once('=') {
            Some(("rate-tenths", value)) => facts.rate_tenths = value.parse().ok(),
            Some(("lanes", value)) => facts.lanes = value.parse().ok(),
            Some(("simulated", value)) => facts.simulated = value.parse().ok(),
            Some(("resolution-ps", value)) => facts.resolution_ps = value.parse().ok(),
            _ => {}
        }
    }
}
