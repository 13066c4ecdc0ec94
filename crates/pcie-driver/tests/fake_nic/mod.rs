//! A fake 82574 that loops each frame back as soon as its transmit doorbell rings. It asserts the rules that
//! a real one relies on: a free receive descriptor, and frames to its own address.
#![allow(dead_code, reason = "the tests and the benchmark use different parts of it")]

use pcie_driver::{Queues, Transport, TransportError};

pub const QUEUES_AT: u64 = 0x10_0000;
pub const DATA_AT: u64 = 0x4000_0000;
const STATION: [u8; 6] = [0x52, 0x54, 0x00, 0x12, 0x34, 0x56];

/// Faults of the fake.
#[derive(Clone, Copy)]
pub struct Kind {
    /// Whether its registers answer.
    pub is_there: bool,
    pub has_station: bool,
    pub leaves_reset: bool,
    /// Frames that come back before all others are lost.
    pub loops: u64,
    /// The frame, from 0, of which a byte changes on the way.
    pub changes: Option<u64>,
    /// The frame that comes back a byte shorter.
    pub cuts: Option<u64>,
    /// Whether frames move data; without, they cost next to nothing.
    pub moves_data: bool,
}

impl Kind {
    pub const GOOD: Self = Self {
        is_there: true,
        has_station: true,
        leaves_reset: true,
        loops: u64::MAX,
        changes: None,
        cuts: None,
        moves_data: true,
    };
}

pub struct FakeNic {
    pub kind: Kind,
    pub host: Vec<u8>,
    registers: Vec<u32>,
    memory: Vec<u8>,
    looped: u64,
}

impl FakeNic {
    pub fn new(kind: Kind) -> Self {
        let mut nic = Self {
            kind,
            host: vec![0; 1 << 20],
            registers: vec![0; 0x6000 / 4],
            memory: vec![0; 0x9000],
            looped: 0,
        };
        // Left switched on by an earlier driver.
        *nic.register(0x0100) = 2;
        nic
    }

    fn register(&mut self, address: u32) -> &mut u32 {
        &mut self.registers[address as usize / 4]
    }

    fn reset(&mut self) {
        self.registers.fill(0);
        *self.register(0x0008) = 0x8008_0783;
        *self.register(0x5000) = 0x300;
        if self.kind.has_station {
            *self.register(0x5400) = u32::from_le_bytes([STATION[0], STATION[1], STATION[2], STATION[3]]);
            *self.register(0x5404) = 1 << 31 | u32::from(STATION[5]) << 8 | u32::from(STATION[4]);
        }
        if !self.kind.leaves_reset {
            *self.register(0) = 1 << 26;
        }
    }

    /// Sends the transmit ring up to its tail.
    fn send(&mut self) {
        if *self.register(0x0400) & 2 == 0 {
            return;
        }
        while *self.register(0x3810) != *self.register(0x3818) {
            let descriptor = self.descriptor(0x3800);
            assert_eq!(descriptor[2] >> 24, 0b11, "the end of a frame, and a checksum for it");
            self.advance(0x3800);
            if self.looped < self.kind.loops {
                self.receive(&descriptor);
            }
            self.looped += 1;
        }
    }

    fn receive(&mut self, sent: &[u32]) {
        let control = *self.register(0x0100);
        assert_eq!(control >> 6 & 3, 1, "loopback in the MAC");
        assert_eq!((control >> 1 & 1, control >> 26 & 1), (1, 1), "on, and without checksums");
        let (head, tail) = (*self.register(0x2810), *self.register(0x2818));
        assert_ne!(head, tail, "no room for the frame");
        let bytes = (sent[2] & 0xffff) as usize;
        let long = |words: &[u32]| u64::from(words[0]) | u64::from(words[1]) << 32;
        let (from, to) = (long(sent), long(&self.descriptor(0x2800)));
        if self.kind.moves_data {
            let mut frame: Vec<u8> = (0..bytes as u64).map(|offset| *self.byte(from + offset)).collect();
            assert_eq!(frame[..6], STATION, "the frame has another destination");
            if self.kind.changes == Some(self.looped) {
                frame[bytes - 1] ^= 1;
            }
            for (address, byte) in (to..).zip(frame) {
                *self.byte(address) = byte;
            }
        }
        let cut = u32::from(self.kind.cuts == Some(self.looped));
        let head = self.head(0x2800);
        self.set_word(head + 8, bytes as u32 - cut);
        self.set_word(head + 12, 0b11);
        self.advance(0x2800);
    }

    /// Offset of the descriptor at a ring's head.
    fn head(&mut self, ring: u32) -> usize {
        let address = u64::from(*self.register(ring)) | u64::from(*self.register(ring + 4)) << 32;
        (address - QUEUES_AT) as usize + 16 * *self.register(ring + 0x10) as usize
    }

    fn descriptor(&mut self, ring: u32) -> [u32; 4] {
        let head = self.head(ring);
        std::array::from_fn(|word| self.word(head + 4 * word))
    }

    fn word(&self, offset: usize) -> u32 {
        u32::from_le_bytes(self.memory[offset..offset + 4].try_into().unwrap_or_default())
    }

    fn set_word(&mut self, offset: usize, word: u32) {
        self.memory[offset..offset + 4].copy_from_slice(&word.to_le_bytes());
    }

    fn advance(&mut self, ring: u32) {
        let entries = *self.register(ring + 8) / 16;
        *self.register(ring + 0x10) = (*self.register(ring + 0x10) + 1) % entries;
    }

    fn byte(&mut self, address: u64) -> &mut u8 {
        if address >= DATA_AT {
            return &mut self.host[(address - DATA_AT) as usize];
        }
        &mut self.memory[(address - QUEUES_AT) as usize]
    }
}

impl Transport for FakeNic {
    fn read(&mut self, address: u32) -> Result<u32, TransportError> {
        if !self.kind.is_there {
            return Ok(u32::MAX);
        }
        let register = self.registers.get(address as usize / 4).copied();
        register.ok_or_else(|| TransportError(format!("no register {address:#x}")))
    }

    fn write(&mut self, address: u32, value: u32) -> Result<(), TransportError> {
        *self.register(address) = value;
        match address {
            0 if value >> 26 & 1 == 1 => self.reset(),
            0x3818 => self.send(),
            _ => {}
        }
        Ok(())
    }

    fn relax(&mut self, _time_ns: u64) -> Result<(), TransportError> {
        Ok(())
    }

    fn store(&mut self, offset: u32, _bytes: &[u8]) -> Result<(), TransportError> {
        Err(TransportError(format!("a NIC has no window for messages: {offset:#x}")))
    }

    fn memory(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), TransportError> {
        bytes.copy_from_slice(&self.host[offset as usize..][..bytes.len()]);
        Ok(())
    }

    fn buffer(&self) -> (&[u64], u64) {
        (&[DATA_AT], self.host.len() as u64)
    }
}

impl Queues for FakeNic {
    fn queue_memory(&self) -> (u64, u64) {
        (QUEUES_AT, self.memory.len() as u64)
    }

    fn put(&mut self, offset: u64, words: &[u32]) -> Result<(), TransportError> {
        for (offset, word) in (offset as usize..).step_by(4).zip(words) {
            self.set_word(offset, *word);
        }
        Ok(())
    }

    fn get(&mut self, offset: u64) -> Result<u32, TransportError> {
        Ok(self.word(offset as usize))
    }
}
