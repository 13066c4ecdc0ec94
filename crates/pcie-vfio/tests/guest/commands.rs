//! Commands of the FPGA core through a mapped BAR. No emulated device has the core's registers: the memory of QEMU's
//! ivshmem holds them, and this program plays the core between two steps of the driver.

use super::{buffer, opened};
use pcie_driver::{Command, Commands, Core};
use pcie_host::PageSize;
use pcie_vfio::{Vfio, Window};

/// Registers of `docs/reference/rtl-registers.md`.
const ID: u64 = 0x000;
const VERSION: u64 = 0x004;
const PARAMETERS: u64 = 0x008;
const CLOCK_PS: u64 = 0x00c;
const COMMANDS: u64 = 0x180;
const COMMAND_LIMITS: u64 = 0x184;
const COMMAND_BUS_LO: u64 = 0x188;
const COMMAND_BUS_HI: u64 = 0x18c;
const COMMAND_MEMORY: u64 = 0x190;
const COMMAND_LENGTH: u64 = 0x194;
const NOTICES_LO: u64 = 0x198;
const NOTICES_TAKEN: u64 = 0x1a4;
const COMMAND_STATUS: u64 = 0x1a8;
const COMMANDS_REFUSED: u64 = 0x1b0;
const COMMAND_SUBMIT: u64 = 0x1c0;
const DATA: u64 = 8192;

fn put(registers: &Window, values: &[(u64, u32)]) {
    assert!(values.iter().all(|(register, value)| registers.write(*register, *value)));
}

#[test]
#[ignore = "runs in the guest of make vm-test"]
fn commands_go_through_the_mapped_registers() {
    let device = opened("PEER");
    let registers = device.bar(2, 0, Some(128 << 10)).unwrap();
    put(
        &registers,
        &[
            (ID, 0x4241_4c50),
            (VERSION, 1 << 16 | 4),
            (PARAMETERS, 32 | 64 << 8 | 12 << 20),
            (CLOCK_PS, 4000),
            (COMMAND_LIMITS, 16 | 4 << 8 | 32 << 16),
            (COMMAND_STATUS, 1),
            (COMMANDS_REFUSED, 0),
        ],
    );
    let memory = buffer(1 << 20, PageSize::FourKib, None);
    let transport = Vfio::new(device, 2, 1, &memory, PageSize::FourKib).unwrap();
    let first = transport.data_address();
    let mut commands = Commands::open(Core::open(transport).unwrap()).unwrap();
    assert_eq!(registers.read(COMMANDS), Some(1));
    assert_eq!(registers.read(NOTICES_LO), Some(first as u32));
    let command =
        Command { writes: true, bus: first + DATA, memory: 4096, bytes: 700, notify: true, number: 9 };
    commands.submit(2, &command).unwrap();
    let read = |register: u64| u64::from(registers.read(register).unwrap());
    assert_eq!(read(COMMAND_BUS_LO) | read(COMMAND_BUS_HI) << 32, first + DATA);
    assert_eq!((read(COMMAND_MEMORY), read(COMMAND_LENGTH)), (4096, 700));
    assert_eq!(read(COMMAND_SUBMIT + 8), 1 | 1 << 1 | 9 << 16);
    assert_eq!(commands.take().unwrap(), None);
    // The notice of the command, as rtl/src/notifier.sv writes it.
    let mut notice = [0u8; 32];
    notice[0] = 100;
    notice[8] = 200;
    notice[16] = 5;
    notice[20] = 1;
    notice[28] = 9;
    notice[30] = 2;
    notice[31] = 1;
    assert!(memory.borrow_mut().copy_in(0, &notice));
    let taken = commands.take().unwrap().unwrap();
    assert_eq!((taken.number, taken.queue, taken.arrived, taken.started, taken.ended), (9, 2, 100, 105, 200));
    assert_eq!(read(NOTICES_TAKEN), 1);
    commands.check().unwrap();
}
