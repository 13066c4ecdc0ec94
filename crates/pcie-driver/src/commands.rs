//! Commands of the FPGA core: its executors move bytes between its memory and the bus, and notices tell which
//! are done, with times from the core's counters.
//!
//! The host's program keeps count of the room in each queue; the core refuses a command beyond it.

use crate::core::{Core, DriverError, fault_text};
use crate::registers as r;
use crate::transport::Transport;

const NOTICE_BYTES: usize = 32;
/// Entries of the ring of notices: they fill a page at the start of the host buffer.
const NOTICES_LOG2: u32 = 7;
/// Clocks after which a read without an answer halts the core.
const TIMEOUT_CLOCKS: u32 = 2_500_000;
/// Time in which the core fills its pools of tags.
const ENABLE_NS: u64 = 10_000;
/// Addresses of commands are multiples of this.
pub const COMMAND_ALIGNMENT: u64 = 64;
/// First minor version with commands.
const COMMANDS_SINCE: u32 = 3;

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// From the core's memory to the bus; otherwise from the bus to the memory.
    pub writes: bool,
    /// Bus address, a multiple of [`COMMAND_ALIGNMENT`].
    pub bus: u64,
    /// Offset in the core's memory, a multiple of [`COMMAND_ALIGNMENT`].
    pub memory: u64,
    /// Bytes, at least 1.
    pub bytes: u64,
    /// Whether a notice tells that it is done.
    pub notify: bool,
    /// Number that its notice repeats.
    pub number: u16,
}

/// A command that is done, in clocks of the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The command's number.
    pub number: u16,
    /// Its queue.
    pub queue: u8,
    /// Clock at which it entered its queue.
    pub arrived: u64,
    /// Clock at which its executor took it.
    pub started: u64,
    /// Clock at which its last byte was stored, or had left.
    pub ended: u64,
}

/// Limits of a core's commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandLimits {
    /// Bytes of the core's memory.
    pub memory_bytes: u64,
    /// Queues.
    pub queues: u32,
    /// Commands that a queue holds.
    pub depth: u32,
}

/// The commands of a core behind a transport.
#[derive(Debug)]
pub struct Commands<T> {
    transport: T,
    limits: CommandLimits,
    taken: u32,
}

impl<T: Transport> Commands<T> {
    /// Enables commands on a core, with at most as many reads in flight as it has tags. Notices go to the start
    /// of the host buffer. Fails if the core has no commands, or does not enable them.
    pub fn open(core: Core<T>) -> Result<Self, DriverError> {
        let tags = core.facts().tags;
        if core.minor() < COMMANDS_SINCE {
            return Err(DriverError::NotOurs("the core has no commands: build it anew".into()));
        }
        let mut transport = core.transport;
        let limits = limits(transport.read(r::COMMAND_LIMITS)?)?;
        let notices = transport.buffer().0.first().copied().unwrap_or_default();
        transport.write_all(&[
            (r::COMMANDS, 0),
            (r::CONTROL, 1 << r::CONTROL_RESET_SHIFT),
            (r::TIMEOUT, TIMEOUT_CLOCKS),
            (r::OUTSTANDING, tags),
            (r::NOTICES_LO, notices as u32),
            (r::NOTICES_HI, (notices >> 32) as u32),
            (r::NOTICE_RING, NOTICES_LOG2),
            (r::NOTICES_TAKEN, 0),
            (r::COMMANDS, 1),
        ])?;
        transport.relax(ENABLE_NS)?;
        let mut commands = Self { transport, limits, taken: 0 };
        if commands.transport.read(r::COMMAND_STATUS)? & r::COMMAND_STATUS_READY_MASK == 0 {
            commands.check()?;
            return Err(DriverError::NotOurs("the core does not enable commands".into()));
        }
        Ok(commands)
    }

    /// The core's limits.
    #[must_use]
    pub fn limits(&self) -> CommandLimits {
        self.limits
    }

    /// The transport, for whoever lets its time pass.
    pub fn transport(&mut self) -> &mut T {
        &mut self.transport
    }

    /// Submits a command to a queue. Fails if the core cannot execute it; a command for a full queue is lost.
    pub fn submit(&mut self, queue: u32, command: &Command) -> Result<(), DriverError> {
        let Command { writes, bus, memory, bytes, notify, number } = *command;
        let limits = self.limits;
        let inside = memory.checked_add(bytes).is_some_and(|end| end <= limits.memory_bytes);
        let aligned = (bus | memory).is_multiple_of(COMMAND_ALIGNMENT);
        if queue >= limits.queues || bytes == 0 || !inside || !aligned {
            return Err(DriverError::NoCommand(format!(
                "{bytes} bytes at {memory:#x} of the core and {bus:#x} of the bus, queue {queue}: the core has {} \
                 queues and {:#x} bytes, and takes multiples of {COMMAND_ALIGNMENT} as addresses",
                limits.queues, limits.memory_bytes
            )));
        }
        let word = u32::from(writes) | u32::from(notify) << 1 | u32::from(number) << 16;
        self.transport.write_all(&[
            (r::COMMAND_BUS_LO, bus as u32),
            (r::COMMAND_BUS_HI, (bus >> 32) as u32),
            (r::COMMAND_MEMORY, memory as u32),
            (r::COMMAND_LENGTH, bytes as u32),
            (r::COMMAND_SUBMIT + 4 * queue, word),
        ])?;
        Ok(())
    }

    /// The next notice, if there is one.
    pub fn take(&mut self) -> Result<Option<Notice>, DriverError> {
        let at = u64::from(self.taken % (1 << NOTICES_LOG2)) * NOTICE_BYTES as u64;
        let mut bytes = [0; NOTICE_BYTES];
        self.transport.memory(at, &mut bytes)?;
        let words = |at: usize| -> u64 {
            bytes[at..at + 4].iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
        };
        if words(20) != u64::from(self.taken.wrapping_add(1)) {
            return Ok(None);
        }
        self.taken = self.taken.wrapping_add(1);
        self.transport.write(r::NOTICES_TAKEN, self.taken)?;
        let arrived = words(0) | words(4) << 32;
        Ok(Some(Notice {
            number: words(28) as u16,
            queue: bytes[30],
            arrived,
            started: arrived + words(16),
            ended: words(8) | words(12) << 32,
        }))
    }

    /// Fails if a fault halted the core, or if it refused a command.
    pub fn check(&mut self) -> Result<(), DriverError> {
        let status = self.transport.read(r::COMMAND_STATUS)?;
        if status >> r::COMMAND_STATUS_HALTED_SHIFT & r::COMMAND_STATUS_HALTED_MASK != 0 {
            let result = status >> r::COMMAND_STATUS_RESULT_SHIFT & r::COMMAND_STATUS_RESULT_MASK;
            return Err(DriverError::Fault(fault_text(result)));
        }
        match self.transport.read(r::COMMANDS_REFUSED)? {
            0 => Ok(()),
            refused => Err(DriverError::NoCommand(format!("the core refused {refused} commands"))),
        }
    }
}

fn limits(register: u32) -> Result<CommandLimits, DriverError> {
    let bytes_log2 =
        register >> r::COMMAND_LIMITS_MEMORY_BYTES_LOG2_SHIFT & r::COMMAND_LIMITS_MEMORY_BYTES_LOG2_MASK;
    let queues = register >> r::COMMAND_LIMITS_QUEUES_SHIFT & r::COMMAND_LIMITS_QUEUES_MASK;
    let depth = register >> r::COMMAND_LIMITS_DEPTH_SHIFT & r::COMMAND_LIMITS_DEPTH_MASK;
    if bytes_log2 > 24 || queues == 0 || depth == 0 {
        return Err(DriverError::NotOurs("the core reports no queues for commands".into()));
    }
    Ok(CommandLimits { memory_bytes: 1 << bytes_log2, queues, depth })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::Fake;

    /// A core with 4 queues of 32 commands and 64 KiB, which is ready at once.
    fn ready() -> Fake {
        let mut fake = Fake::new(None);
        let limits = 16 | 4 << r::COMMAND_LIMITS_QUEUES_SHIFT | 32 << r::COMMAND_LIMITS_DEPTH_SHIFT;
        fake.registers.insert(r::VERSION, 1 << r::VERSION_MAJOR_SHIFT | COMMANDS_SINCE);
        fake.registers.insert(r::COMMAND_LIMITS, limits);
        fake.registers.insert(r::COMMAND_STATUS, r::COMMAND_STATUS_READY_MASK);
        fake
    }

    fn command(memory: u64, bytes: u64) -> Command {
        Command { writes: true, bus: 5 << 32 | 64, memory, bytes, notify: true, number: 7 }
    }

    #[test]
    fn submits_what_the_core_can_execute_and_refuses_the_rest() {
        let mut commands = Commands::open(Core::open(ready()).unwrap()).unwrap();
        assert_eq!(commands.limits(), CommandLimits { memory_bytes: 65536, queues: 4, depth: 32 });
        commands.submit(3, &command(128, 65536 - 128)).unwrap();
        let registers = &commands.transport.registers;
        let entry = r::COMMAND_SUBMIT + 12;
        let written = [r::COMMAND_BUS_LO, r::COMMAND_BUS_HI, r::COMMAND_MEMORY, r::COMMAND_LENGTH, entry];
        assert_eq!(written.map(|at| registers[&at]), [64, 5, 128, 65536 - 128, 7 << 16 | 3]);
        let odd = Command { bus: 32, ..command(0, 64) };
        for (queue, wrong) in
            [(4, command(0, 64)), (0, command(64, 65536)), (0, command(0, 0)), (0, command(32, 64)), (0, odd)]
        {
            let refused = commands.submit(queue, &wrong).unwrap_err().to_string();
            assert!(refused.contains("4 queues and 0x10000 bytes"), "{refused}");
        }
    }

    #[test]
    fn notices_are_taken_in_the_order_of_their_numbers() {
        let mut fake = ready();
        fake.memory = vec![0; 3 * NOTICE_BYTES];
        for (number, command) in [(1u32, 9u16), (2, 8)] {
            let at = (number as usize - 1) * NOTICE_BYTES;
            fake.memory[at] = 100;
            fake.memory[at + 9] = 1;
            fake.memory[at + 16] = 5;
            fake.memory[at + 20..at + 24].copy_from_slice(&number.to_le_bytes());
            fake.memory[at + 28..at + 30].copy_from_slice(&command.to_le_bytes());
            fake.memory[at + 30] = 3;
        }
        let mut commands = Commands::open(Core::open(fake).unwrap()).unwrap();
        for number in [9, 8] {
            let expected = Notice { number, queue: 3, arrived: 100, started: 105, ended: 256 };
            assert_eq!(commands.take(), Ok(Some(expected)));
        }
        assert_eq!(commands.take(), Ok(None));
        assert_eq!(commands.transport.registers[&r::NOTICES_TAKEN], 2);
    }

    #[test]
    fn halts_and_refusals_are_errors_and_so_is_a_core_without_commands() {
        let mut commands = Commands::open(Core::open(ready()).unwrap()).unwrap();
        assert_eq!(commands.check(), Ok(()));
        commands.transport.registers.insert(r::COMMANDS_REFUSED, 2);
        assert!(commands.check().unwrap_err().to_string().contains("refused 2"));
        let halted =
            1 << r::COMMAND_STATUS_HALTED_SHIFT | r::RESULT_POISONED << r::COMMAND_STATUS_RESULT_SHIFT;
        commands.transport.registers.insert(r::COMMAND_STATUS, halted);
        assert!(commands.check().unwrap_err().to_string().contains("poisoned"));
        for (register, value) in
            [(r::VERSION, 1 << 16 | 2), (r::COMMAND_LIMITS, 0), (r::COMMAND_STATUS, halted)]
        {
            let mut fake = ready();
            fake.registers.insert(register, value);
            assert!(Commands::open(Core::open(fake).unwrap()).is_err(), "{register:#x}");
        }
    }
}
