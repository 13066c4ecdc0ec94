//! Register values for a test. The core generates addresses without dividing: the driver divides.

use crate::core::CoreFacts;
use crate::registers as r;
use pcie_workload::{AddressList, LIST_LENGTH, Operation, Path, Pattern, Test};
use thiserror::Error;

/// Bits of a unit number in the core.
const UNIT_BITS: u32 = 26;
/// Completion time-out: 10 ms, far above any memory access.
const TIMEOUT_NS: u64 = 10_000_000;

/// Why the core does not support a test.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unsupported {
    /// The command path.
    #[error("the FPGA core has no command path")]
    CommandPath,
    /// A transfer beyond a page.
    #[error("the FPGA core transfers at most 4096 bytes: size_bytes + host_offset_bytes is {0}")]
    OverPage(u64),
    /// More requests in flight than tags.
    #[error("this FPGA core has {tags} tags on this link: outstanding is {asked}")]
    OverTags {
        /// Requests in flight asked for.
        asked: u32,
        /// Usable tags on this link.
        tags: u32,
    },
    /// Too many units.
    #[error("the FPGA core counts at most 2^{UNIT_BITS} units: the window has {0}")]
    OverUnits(u64),
    /// Too many transactions.
    #[error("the FPGA core counts at most 2^32 - 1 transactions: {0} are asked for")]
    OverCount(u64),
    /// An offset on the device, whose data have no address there.
    #[error("device_offset_bytes is {0}: give 0: the FPGA core generates its data and has no buffer")]
    DeviceOffset(u64),
}

/// Registers and tables of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    writes: Vec<(u32, u32)>,
}

impl Settings {
    /// Settings for some transactions of a valid test, with the key of its data. Fails if it is unsupported.
    pub fn new(
        core: &CoreFacts,
        test: &Test,
        list: &AddressList,
        transactions: std::ops::Range<u64>,
        data_key: u32,
    ) -> Result<Self, Unsupported> {
        supports(core, test, list)?;
        let count = transactions.end - transactions.start;
        let count = u32::try_from(count).map_err(|_| Unsupported::OverCount(count))?;
        let mut settings = Self { writes: Vec::new() };
        settings.put(r::OPERATION, operation(test, transactions.start));
        settings.put(r::SIZE, test.size_bytes as u32);
        settings.put(r::COUNT, count);
        settings.put(r::OUTSTANDING, test.outstanding.unwrap_or(core.tags).min(core.tags));
        settings.put(r::TIMEOUT, (TIMEOUT_NS * 1000 / u64::from(core.clock_ps)) as u32);
        settings.put(r::DATA_KEY, data_key);
        settings.walk(test, list, transactions.start);
        settings.units(test, list);
        Ok(settings)
    }

    /// The registers to write, in any order.
    #[must_use]
    pub fn writes(&self) -> &[(u32, u32)] {
        &self.writes
    }

    fn put(&mut self, register: u32, value: u32) {
        self.writes.push((register, value));
    }

    /// Start and step of the walk over the list.
    fn walk(&mut self, test: &Test, list: &AddressList, first: u64) {
        let usable = list.units().usable_count();
        let step = match test.pattern {
            Pattern::Fixed | Pattern::Random => 0,
            Pattern::Sequential => 1,
            Pattern::Strided => test.stride_units,
        };
        let index = list.index(first);
        let wraps_to = if test.operation.is_latency() { 0 } else { LIST_LENGTH - 1 };
        let modulo = |factor: u64| (u128::from(factor) * u128::from(step) % u128::from(usable)) as u32;
        let key = list.draws().key();
        self.put(r::KEY_LO, key as u32);
        self.put(r::KEY_HI, (key >> 32) as u32);
        self.put(r::LIST_INDEX, index as u32);
        self.put(r::USABLE, usable as u32);
        self.put(r::NTH, modulo(index));
        self.put(r::NTH_WRAP, modulo(wraps_to));
        self.put(r::STEP, modulo(1));
    }

    /// Usable units and their addresses.
    fn units(&mut self, test: &Test, list: &AddressList) {
        let units = list.units();
        let usable = units.usable_in_period();
        let period = usable.len() as u32
            | (units.period() as u32) << r::PERIOD_LENGTH_SHIFT
            | u32::from(units.all_usable()) << r::PERIOD_ALL_USABLE_SHIFT;
        self.put(r::PERIOD, period);
        self.put(r::RECIPROCAL, (1u64 << 31).div_ceil(usable.len() as u64) as u32);
        self.put(r::UNIT_BYTES, test.unit_bytes() as u32);
        self.put(r::HOST_OFFSET, test.host_offset_bytes as u32);
        if !units.all_usable() {
            for (nth, unit) in (0..).zip(usable) {
                self.put(r::UNITS + 4 * nth, *unit);
            }
        }
    }
}

fn supports(core: &CoreFacts, test: &Test, list: &AddressList) -> Result<(), Unsupported> {
    let bytes = test.size_bytes + test.host_offset_bytes;
    let units = list.units().count();
    match test.outstanding {
        _ if test.path == Path::Command => Err(Unsupported::CommandPath),
        _ if test.device_offset_bytes != 0 => Err(Unsupported::DeviceOffset(test.device_offset_bytes)),
        _ if bytes > pcie_workload::PAGE_BYTES => Err(Unsupported::OverPage(bytes)),
        _ if units >> UNIT_BITS != 0 => Err(Unsupported::OverUnits(units)),
        Some(asked) if asked > core.tags => Err(Unsupported::OverTags { asked, tags: core.tags }),
        _ => Ok(()),
    }
}

fn operation(test: &Test, first: u64) -> u32 {
    let operation = match test.operation {
        // A chase is on the command path, which `supports` refuses.
        Operation::LatRd | Operation::LatChase => r::OPERATION_LAT_RD,
        Operation::LatWrrd => r::OPERATION_LAT_WRRD,
        Operation::BwRd => r::OPERATION_BW_RD,
        Operation::BwWr => r::OPERATION_BW_WR,
        Operation::BwRdwr => r::OPERATION_BW_RDWR,
    };
    let pattern = match test.pattern {
        Pattern::Fixed => r::PATTERN_FIXED,
        Pattern::Sequential => r::PATTERN_SEQUENTIAL,
        Pattern::Strided => r::PATTERN_STRIDED,
        Pattern::Random => r::PATTERN_RANDOM,
    };
    let latency = test.operation.is_latency();
    let writes = AddressList::writes(test.operation, first, test.transactions);
    operation << r::OPERATION_OPERATION_SHIFT
        | pattern << r::OPERATION_PATTERN_SHIFT
        | u32::from(!latency) << r::OPERATION_BACKWARDS_SHIFT
        | u32::from(latency && first == 0) << r::OPERATION_FIRST_TWICE_SHIFT
        | u32::from(writes) << r::OPERATION_FIRST_WRITES_SHIFT
        | 1 << r::OPERATION_CHECK_DATA_SHIFT
}

#[cfg(test)]
#[allow(clippy::panic, reason = "a test that cannot be set up fails")]
mod tests {
    use super::*;
    use pcie_time::{Draws, Stream};

    const CORE: CoreFacts = CoreFacts { data_bytes: 32, tags: 64, records: 4096, clock_ps: 4000 };

    fn test() -> Test {
        let plain = Test::random_dma(Operation::BwRd, 769, 1 << 20, 3_000_000);
        Test { pattern: Pattern::Strided, stride_units: 7, ..plain }
    }

    fn list(test: &Test) -> AddressList {
        AddressList::new(test, Draws::new(1, 0, Stream::Addresses))
    }

    fn registers(test: &Test, first: u64) -> std::collections::BTreeMap<u32, u32> {
        let settings = Settings::new(&CORE, test, &list(test), first..test.transactions, 5)
            .unwrap_or_else(|error| panic!("{error}"));
        settings.writes().iter().copied().collect()
    }

    #[test]
    fn walk_starts_and_wraps_like_the_list() {
        let test = test();
        let (list, registers) = (list(&test), registers(&test, 17));
        let usable = list.units().usable_count();
        let index = list.index(17);
        assert_eq!(registers[&r::LIST_INDEX], index as u32);
        assert_eq!(u64::from(registers[&r::NTH]), index * 7 % usable);
        assert_eq!(u64::from(registers[&r::NTH_WRAP]), (LIST_LENGTH - 1) * 7 % usable);
        assert_eq!(registers[&r::STEP], 7);
        assert_eq!(registers[&r::COUNT], 3_000_000 - 17);
        assert_eq!(registers[&r::OUTSTANDING], 64);
    }

    #[test]
    fn table_leaves_out_units_that_cross_a_page() {
        let test = test();
        let registers = registers(&test, 0);
        // Units of 832 bytes: 64 in a period of 13 pages.
        assert_eq!(registers[&r::PERIOD] >> r::PERIOD_LENGTH_SHIFT & r::PERIOD_LENGTH_MASK, 64);
        let usable = registers[&r::PERIOD] & r::PERIOD_USABLE_MASK;
        assert_eq!(registers[&r::RECIPROCAL], (1u64 << 31).div_ceil(u64::from(usable)) as u32);
        let table: Vec<u32> = (0..usable).map(|nth| registers[&(r::UNITS + 4 * nth)]).collect();
        assert_eq!(table, list(&test).units().usable_in_period());
        assert_eq!(registers.get(&(r::UNITS + 4 * usable)), None);
    }

    #[test]
    fn refuses_unsupported_tests_with_the_limit() {
        for (test, named) in [
            (Test { path: Path::Command, ..test() }, "command path"),
            (Test { outstanding: Some(65), ..test() }, "64 tags"),
            (Test { device_offset_bytes: 1, ..test() }, "device_offset_bytes"),
            (Test { transactions: 1 << 33, ..test() }, "2^32 - 1"),
            (Test { window_bytes: 1 << 40, ..test() }, "2^26 units"),
        ] {
            match Settings::new(&CORE, &test, &list(&test), 0..test.transactions, 0) {
                Err(error) => assert!(error.to_string().contains(named), "{error}"),
                Ok(_) => panic!("{named}"),
            }
        }
    }
}
