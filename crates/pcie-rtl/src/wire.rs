//! The protocol of the pipe to `pcielab-rtl`: little-endian, packed. `rtl/native/wire.hpp` describes the
//! fields.

/// Version of the protocol.
pub(crate) const VERSION: u32 = 4;
/// First four bytes from the process.
pub(crate) const MAGIC: u32 = 0x4c54_5250;

/// Greeting of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) magic: u32,
    pub(crate) version: u32,
    pub(crate) data_bytes: u32,
    pub(crate) tags: u32,
    pub(crate) records: u32,
    pub(crate) clock_ps: u32,
}

impl Hello {
    pub(crate) const BYTES: usize = 24;

    pub(crate) fn parse(bytes: &[u8; Self::BYTES]) -> Self {
        let mut fields = Fields(bytes);
        Self {
            magic: fields.u32(),
            version: fields.u32(),
            data_bytes: fields.u32(),
            tags: fields.u32(),
            records: fields.u32(),
            clock_ps: fields.u32(),
        }
    }
}

/// Parameters that stay the same during a test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surroundings {
    pub(crate) react: u32,
    pub(crate) max_payload: u8,
    pub(crate) max_read_request: u8,
    pub(crate) byte_fs: u32,
    pub(crate) read_bytes: u32,
    pub(crate) write_bytes: u32,
    pub(crate) unit_bytes: u32,
    pub(crate) backlog_fs: u32,
}

/// A completion for the core.
#[derive(Clone, Debug)]
pub(crate) struct Completion {
    pub(crate) clock: u64,
    pub(crate) tag: u16,
    pub(crate) byte_count: u16,
    pub(crate) lower_address: u8,
    pub(crate) data: Vec<u8>,
}

/// An access to a register; a read where there is no value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) clock: u64,
    pub(crate) address: u32,
    pub(crate) value: Option<u32>,
}

/// A store to a BAR: whole double words, of which the enables leave out bytes of the first and the last.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    pub(crate) clock: u64,
    pub(crate) bar: u8,
    pub(crate) first_be: u8,
    pub(crate) last_be: u8,
    pub(crate) offset: u32,
    pub(crate) data: Vec<u8>,
}

/// A load of the core's memory, its BAR 4.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) clock: u64,
    pub(crate) offset: u32,
    /// 1 to 4,096.
    pub(crate) bytes: u32,
}

/// Returned credits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Credit {
    pub(crate) clock: u64,
    pub(crate) posted_headers: u32,
    pub(crate) posted_data: u32,
    pub(crate) non_posted_headers: u32,
}

/// Inputs of an exchange.
#[derive(Clone, Debug, Default)]
pub(crate) struct Items {
    pub(crate) completions: Vec<Completion>,
    pub(crate) accesses: Vec<Access>,
    pub(crate) credits: Vec<Credit>,
    pub(crate) stores: Vec<Store>,
    pub(crate) loads: Vec<Load>,
}

impl Items {
    pub(crate) fn emit(&self, until: u64, surroundings: &Surroundings, to: &mut Vec<u8>) {
        to.clear();
        to.extend(until.to_le_bytes());
        let counts = [self.completions.len(), self.accesses.len(), self.credits.len(), self.stores.len()];
        words(to, &[surroundings.react]);
        words(to, &counts.map(|count| count as u32));
        words(to, &[self.loads.len() as u32]);
        to.extend([surroundings.max_payload, surroundings.max_read_request, 1, 0]);
        let s = surroundings;
        words(to, &[s.byte_fs, s.read_bytes, s.write_bytes, s.unit_bytes, s.backlog_fs]);
        for completion in &self.completions {
            to.extend(completion.clock.to_le_bytes());
            for half in [completion.tag, completion.byte_count, (completion.data.len() / 4) as u16] {
                to.extend(half.to_le_bytes());
            }
            to.extend([completion.lower_address, 0, 0, 1]);
            to.extend(&completion.data);
        }
        for access in &self.accesses {
            to.extend(access.clock.to_le_bytes());
            words(to, &[access.address, access.value.unwrap_or_default(), access.value.is_some().into()]);
        }
        for credit in &self.credits {
            to.extend(credit.clock.to_le_bytes());
            words(to, &[credit.posted_headers, credit.posted_data, credit.non_posted_headers]);
        }
        for store in &self.stores {
            to.extend(store.clock.to_le_bytes());
            words(to, &[store.offset, store.data.len() as u32]);
            to.extend([store.bar, store.first_be, store.last_be, 0]);
            to.extend(&store.data);
        }
        for load in &self.loads {
            to.extend(load.clock.to_le_bytes());
            words(to, &[load.offset, load.bytes]);
        }
    }
}

fn words(to: &mut Vec<u8>, values: &[u32]) {
    values.iter().for_each(|value| to.extend(value.to_le_bytes()));
}

/// Summary at the end of an exchange.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ran {
    pub(crate) clock: u64,
    pub(crate) requests: u32,
    pub(crate) responses: u32,
    pub(crate) loaded: u32,
    pub(crate) accesses_left: u32,
    pub(crate) ended_tests: u32,
}

impl Ran {
    pub(crate) const BYTES: usize = 28;

    pub(crate) fn parse(bytes: &[u8; Self::BYTES]) -> Self {
        let mut fields = Fields(bytes);
        Self {
            clock: fields.u64(),
            requests: fields.u32(),
            responses: fields.u32(),
            loaded: fields.u32(),
            accesses_left: fields.u32(),
            ended_tests: fields.u32(),
        }
    }
}

/// A request that left the core.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) last_clock: u64,
    pub(crate) address: u64,
    pub(crate) dwords: u16,
    pub(crate) tag: u16,
    pub(crate) write: bool,
    pub(crate) first_be: u8,
    pub(crate) last_be: u8,
}

impl Request {
    pub(crate) const BYTES: usize = 32;

    pub(crate) fn parse(bytes: &[u8; Self::BYTES]) -> Self {
        let mut fields = Fields(bytes);
        let _first_clock = fields.u64();
        Self {
            last_clock: fields.u64(),
            address: fields.u64(),
            dwords: fields.u16(),
            tag: fields.u16(),
            write: fields.u8() != 0,
            first_be: fields.u8(),
            last_be: fields.u8(),
        }
    }

    /// Disabled bytes of its double words, at the start and at the end.
    pub(crate) fn left_out(&self) -> (u32, u32) {
        let lead = (self.first_be & 15).trailing_zeros().min(3);
        let last = if self.dwords > 1 { self.last_be } else { self.first_be };
        (lead, (last & 15).leading_zeros().saturating_sub(4).min(3))
    }
}

/// Bytes of a response: clock and value.
pub(crate) const RESPONSE_BYTES: usize = 12;

/// The value of a response.
pub(crate) fn response(bytes: &[u8; RESPONSE_BYTES]) -> u32 {
    let mut fields = Fields(bytes);
    let _clock = fields.u64();
    fields.u32()
}

/// Bytes of the head of a finished load: clock, and bytes of its data.
pub(crate) const LOADED_BYTES: usize = 12;

/// Clock at which a load was finished, and bytes of its data.
pub(crate) fn loaded(bytes: &[u8; LOADED_BYTES]) -> (u64, u32) {
    let mut fields = Fields(bytes);
    (fields.u64(), fields.u32())
}

/// Parser of numbers; beyond the end of the bytes, which callers exclude, it reads zeros.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let mut field = [0; N];
        if let Some((taken, rest)) = self.0.split_at_checked(N) {
            field.copy_from_slice(taken);
            self.0 = rest;
        }
        field
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.take())
    }

    fn u8(&mut self) -> u8 {
        u8::from_le_bytes(self.take())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(dwords: u16, first_be: u8, last_be: u8) -> Request {
        Request { last_clock: 0, address: 0, dwords, tag: 0, write: false, first_be, last_be }
    }

    #[test]
    fn byte_enables_give_disabled_bytes() {
        assert_eq!(request(1, 0b0110, 0).left_out(), (1, 1));
        assert_eq!(request(1, 0b1000, 0).left_out(), (3, 0));
        assert_eq!(request(2, 0b1100, 0b0001).left_out(), (2, 3));
        assert_eq!(request(16, 0b1111, 0b1111).left_out(), (0, 0));
    }

    #[test]
    fn exchanges_have_the_length_of_their_header() {
        let completion = Completion { clock: 1, tag: 2, byte_count: 8, lower_address: 4, data: vec![0; 8] };
        let items = Items {
            completions: vec![completion],
            accesses: vec![Access { clock: 1, address: 4, value: None }],
            credits: vec![Credit { clock: 3, posted_headers: 1, posted_data: 4, non_posted_headers: 0 }],
            stores: vec![Store {
                clock: 4,
                bar: 2,
                first_be: 15,
                last_be: 15,
                offset: 64,
                data: vec![0; 16],
            }],
            loads: vec![Load { clock: 5, offset: 64, bytes: 100 }],
        };
        let surroundings = Surroundings {
            react: 1,
            max_payload: 1,
            max_read_request: 2,
            byte_fs: 1,
            read_bytes: 24,
            write_bytes: 24,
            unit_bytes: 8,
            backlog_fs: 1,
        };
        let mut bytes = vec![9; 3];
        items.emit(7, &surroundings, &mut bytes);
        assert_eq!(bytes.len(), 56 + (18 + 8) + 20 + 20 + (20 + 16) + 16);
        assert_eq!(bytes[..8], 7u64.to_le_bytes());
    }
}
