//! A fake NVMe controller that carries out each command as soon as its doorbell rings. It asserts the rules
//! that a real one relies on: positions of entries, page-aligned PRPs, and room for completions.
#![allow(dead_code, reason = "the tests and the benchmark use different parts of it")]

use pcie_driver::{Queues, Transport, TransportError};

pub const QUEUES_AT: u64 = 0x10_0000;
pub const DATA_AT: u64 = 0x4000_0000;
pub const CMB_AT: u64 = 0x8_0000_0000;
const BLOCK: usize = 512;

/// Features and faults of the fake.
#[derive(Clone, Copy)]
pub struct Kind {
    pub has_compare: bool,
    pub has_sgl: bool,
    pub has_verify: bool,
    pub has_deallocate: bool,
    /// DLFEAT: 1 if deallocated blocks read as zeros, 2 as ones, 0 if the drive does not report it.
    pub dlfeat: u8,
    pub has_cmb: bool,
    /// Whether commands move data; without, they cost next to nothing.
    pub moves_data: bool,
    /// All ones if the device is gone.
    pub version: u32,
    /// Commands that it answers before it falls silent.
    pub answers: u64,
}

impl Kind {
    pub const GOOD: Self = Self {
        has_compare: true,
        has_sgl: true,
        has_verify: true,
        has_deallocate: true,
        dlfeat: 1,
        has_cmb: true,
        moves_data: true,
        version: 0x1_0400,
        answers: u64::MAX,
    };
}

#[derive(Clone, Copy, Default)]
struct Queue {
    submission: u64,
    completion: u64,
    entries: u32,
    head: u32,
    tail: u32,
    phase: u32,
    /// Completions that the driver has not taken.
    waiting: u32,
}

pub struct FakeDrive {
    pub kind: Kind,
    pub disk: Vec<u8>,
    /// Whether a block is deallocated: reading it does not access the medium.
    pub deallocated: Vec<bool>,
    /// Blocks read from the medium.
    pub medium_reads: u64,
    pub host: Vec<u8>,
    pub cmb: Vec<u8>,
    cmb_at: u64,
    registers: Vec<u32>,
    memory: Vec<u32>,
    queues: [Queue; 2],
    served: u64,
}

impl FakeDrive {
    pub fn new(kind: Kind) -> Self {
        let mut registers = vec![0; 0x1100 / 4];
        // 256 entries, 500 ms to become ready, and a controller memory buffer of 64 KiB in BAR 2.
        registers[0] = 255 | 1 << 24;
        registers[1] = u32::from(kind.has_cmb) << 25;
        registers[2] = kind.version;
        registers[0x38 / 4] = 2;
        registers[0x3c / 4] = 16 << 12 | 0b11001;
        Self {
            kind,
            disk: (0..256 * BLOCK).map(|offset| (offset / BLOCK) as u8).collect(),
            deallocated: vec![false; 256],
            medium_reads: 0,
            host: vec![0; 1 << 20],
            cmb: vec![0; 64 << 10],
            cmb_at: u64::MAX,
            registers,
            memory: vec![0; 0x9_0000 / 4],
            queues: [Queue::default(); 2],
            served: 0,
        }
    }

    fn words(&self, address: u64, count: usize) -> Vec<u32> {
        if address >= self.cmb_at {
            let start = (address - self.cmb_at) as usize;
            let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap_or_default());
            return self.cmb[start..start + 4 * count].chunks(4).map(word).collect();
        }
        let start = ((address - QUEUES_AT) / 4) as usize;
        self.memory[start..start + count].to_vec()
    }

    fn ring(&mut self, number: usize, tail: u32) {
        self.queues[number].tail = tail;
        while self.queues[number].head != tail {
            let queue = self.queues[number];
            let command = self.words(queue.submission + 64 * u64::from(queue.head), 16);
            self.queues[number].head = (queue.head + 1) % queue.entries;
            self.served += 1;
            if self.served > self.kind.answers {
                continue;
            }
            let status = if number == 0 { self.administrate(&command) } else { self.transfer(&command) };
            self.complete(number, (command[0] >> 16) as u16, status);
        }
    }

    fn complete(&mut self, number: usize, identifier: u16, status: u32) {
        let queue = &mut self.queues[number];
        assert!(queue.waiting < queue.entries, "no room for the completion");
        let slot = u64::from((queue.head + queue.entries - 1) % queue.entries);
        let entry = ((queue.completion - QUEUES_AT + 16 * slot) / 4) as usize;
        self.memory[entry + 3] = u32::from(identifier) | queue.phase << 16 | status << 17;
        queue.waiting += 1;
        // Every submission is completed at once, so both queues wrap together.
        queue.phase ^= u32::from(queue.head == 0);
    }

    fn administrate(&mut self, command: &[u32]) -> u32 {
        let pointer = u64::from(command[6]) | u64::from(command[7]) << 32;
        match command[0] & 0xff {
            6 => {
                let mut page = vec![0u8; 4096];
                if command[10] == 1 {
                    page[4..12].copy_from_slice(b"serial  ");
                    page[24..34].copy_from_slice(b"fake drive");
                    page[64..68].copy_from_slice(b"1.0 ");
                    page[77] = 5;
                    page[520] = u8::from(self.kind.has_compare)
                        | u8::from(self.kind.has_deallocate) << 2
                        | u8::from(self.kind.has_verify) << 7;
                    page[536] = u8::from(self.kind.has_sgl);
                } else {
                    page[0] = 0;
                    page[1] = 1;
                    page[33] = self.kind.dlfeat;
                    page[130] = 9;
                }
                let start = ((pointer - QUEUES_AT) / 4) as usize;
                for (word, bytes) in self.memory[start..].iter_mut().zip(page.chunks(4)) {
                    *word = u32::from_le_bytes(bytes.try_into().unwrap_or_default());
                }
                0
            }
            5 => {
                self.queues[1] = Queue { completion: pointer, phase: 1, ..self.queues[1] };
                0
            }
            1 => {
                self.queues[1].submission = pointer;
                self.queues[1].entries = (command[10] >> 16) + 1;
                self.queues[1].head = 0;
                0
            }
            0 | 4 => 0,
            _ => 1,
        }
    }

    fn transfer(&mut self, command: &[u32]) -> u32 {
        if !self.kind.moves_data || command[0] & 0xff == 0 {
            return 0;
        }
        if command[0] & 0xff == 9 {
            return self.deallocate(command);
        }
        let (first, blocks) = (command[10] as usize, (command[12] & 0xffff) as usize + 1);
        if (first + blocks) * BLOCK > self.disk.len() {
            return 0x080;
        }
        let touched = first..first + blocks;
        if command[0] & 0xff == 1 {
            self.deallocated[touched].fill(false);
        } else {
            self.medium_reads += self.deallocated[touched].iter().filter(|block| !**block).count() as u64;
        }
        if command[0] & 0xff == 0xc {
            assert_eq!(command[6..10], [0; 4], "a verify has no data");
            return u32::from(!self.kind.has_verify);
        }
        for (number, memory) in self.addresses(command, blocks * BLOCK).into_iter().enumerate() {
            let block = first * BLOCK + 4 * number;
            let word: [u8; 4] = self.disk[block..block + 4].try_into().unwrap_or_default();
            let memory = match memory.checked_sub(self.cmb_at) {
                Some(offset) => &mut self.cmb[offset as usize..][..4],
                None => &mut self.host[(memory - DATA_AT) as usize..][..4],
            };
            match command[0] & 0xff {
                1 => self.disk[block..block + 4].copy_from_slice(memory),
                2 => memory.copy_from_slice(&word),
                5 if memory == word.as_slice() => {}
                5 => return 0x285,
                _ => return 1,
            }
        }
        0
    }

    /// Carries out a Dataset Management command of one range.
    fn deallocate(&mut self, command: &[u32]) -> u32 {
        assert_eq!((command[10], command[11]), (0, 4), "one range to deallocate");
        if !self.kind.has_deallocate {
            return 1;
        }
        let range = self.words(u64::from(command[6]) | u64::from(command[7]) << 32, 4);
        let (first, blocks) = (range[2] as usize, range[1] as usize);
        if (first + blocks) * BLOCK > self.disk.len() {
            return 0x080;
        }
        self.deallocated[first..first + blocks].fill(true);
        let bytes = &mut self.disk[first * BLOCK..(first + blocks) * BLOCK];
        match self.kind.dlfeat {
            1 => bytes.fill(0),
            2 => bytes.fill(0xff),
            _ => {}
        }
        0
    }

    /// Bus address of every word of a transfer.
    fn addresses(&self, command: &[u32], bytes: usize) -> Vec<u64> {
        let long = |words: &[u32]| u64::from(words[0]) | u64::from(words[1]) << 32;
        let (first, second) = (long(&command[6..]), long(&command[8..]));
        if command[0] >> 14 & 3 == 1 {
            assert_eq!(command[8] as usize, bytes, "the descriptor's length");
            return (first..first + bytes as u64).step_by(4).collect();
        }
        let in_first = (4096 - first % 4096).min(bytes as u64);
        let mut addresses: Vec<u64> = (first..first + in_first).step_by(4).collect();
        let pages = (bytes as u64 - in_first).div_ceil(4096);
        for page in 0..pages {
            let start = if pages == 1 { second } else { long(&self.words(second + 8 * page, 2)) };
            assert_eq!(start % 4096, 0, "later pages start at offset 0");
            let left = bytes as u64 - addresses.len() as u64 * 4;
            addresses.extend((start..start + left.min(4096)).step_by(4));
        }
        addresses
    }
}

impl Transport for FakeDrive {
    fn read(&mut self, address: u32) -> Result<u32, TransportError> {
        self.registers
            .get(address as usize / 4)
            .copied()
            .ok_or_else(|| TransportError(format!("no register {address:#x}")))
    }

    fn write(&mut self, address: u32, value: u32) -> Result<(), TransportError> {
        match address {
            0x14 => {
                self.registers[0x1c / 4] = value & 1;
                if value & 1 == 1 {
                    let long = |at: usize| {
                        u64::from(self.registers[at / 4]) | u64::from(self.registers[at / 4 + 1]) << 32
                    };
                    let (submission, completion) = (long(0x28), long(0x30));
                    let entries = (self.registers[0x24 / 4] & 0xfff) + 1;
                    self.queues[0] = Queue { submission, completion, entries, phase: 1, ..Queue::default() };
                }
            }
            0x50 if value & 2 != 0 => {
                self.cmb_at = u64::from(value & !0xfff) | u64::from(self.registers[0x54 / 4]) << 32;
            }
            0x1000 => self.ring(0, value),
            0x1008 => self.ring(1, value),
            0x1004 | 0x100c => self.queues[((address - 0x1004) / 8) as usize].waiting = 0,
            _ => {}
        }
        if let Some(register) = self.registers.get_mut(address as usize / 4) {
            *register = value;
        }
        Ok(())
    }

    fn relax(&mut self, _time_ns: u64) -> Result<(), TransportError> {
        Ok(())
    }

    fn store(&mut self, offset: u32, bytes: &[u8]) -> Result<(), TransportError> {
        self.cmb[offset as usize..][..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn memory(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), TransportError> {
        bytes.copy_from_slice(&self.host[offset as usize..][..bytes.len()]);
        Ok(())
    }

    fn buffer(&self) -> (&[u64], u64) {
        (&[DATA_AT], self.host.len() as u64)
    }
}

impl Queues for FakeDrive {
    fn queue_memory(&self) -> (u64, u64) {
        (QUEUES_AT, 4 * self.memory.len() as u64)
    }

    fn put(&mut self, offset: u64, words: &[u32]) -> Result<(), TransportError> {
        self.memory[(offset / 4) as usize..][..words.len()].copy_from_slice(words);
        Ok(())
    }

    fn get(&mut self, offset: u64) -> Result<u32, TransportError> {
        Ok(self.memory[(offset / 4) as usize])
    }
}
