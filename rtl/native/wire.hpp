// SPDX-License-Identifier: Apache-2.0
// The messages between pcielab-rtl and the program that drives it: little-endian, over the process's standard input and
// output. crates/pcie-rtl/src/wire.rs is the other end: change both, and VERSION.
//
// The process starts with a Hello. Then each exchange is a Run with its items, answered by a Ran with its own.
#pragma once

#include <cstdint>

namespace wire {

constexpr uint32_t MAGIC = 0x4c54'5250; // "PRTL"
constexpr uint32_t VERSION = 4;

#pragma pack(push, 1)

struct Hello {
    uint32_t magic, version, data_bytes, tags, records, clock_ps;
};

// Runs until clock `until`, `react` clocks after the first request of this exchange was taken, the end of the last register
// access, or the end of a test, whichever comes first. Later events are kept for the next exchange.
struct Run {
    uint64_t until;
    uint32_t react;
    uint32_t completions, accesses, credits, stores, loads;
    uint8_t max_payload, max_read_request, bus_master, reset;
    // The uplink at the hard block's transmit buffer: femtoseconds per byte, bytes of a TLP besides its payload, the unit to
    // which TLPs are rounded up, and the backlog that may wait, femtoseconds.
    uint32_t byte_fs, read_bytes, write_bytes, unit_bytes, backlog_fs;
};

// A completion whose first beat comes at `clock` or later; its data follow, whole double words.
struct Completion {
    uint64_t clock;
    uint16_t tag, byte_count, dwords;
    uint8_t lower_address, status, poisoned, has_data;
};

struct Access {
    uint64_t clock;
    uint32_t address, data;
    uint32_t write;
};

// Credits that return at `clock`. The initial credits come with the first exchange.
struct Credit {
    uint64_t clock;
    uint32_t posted_headers, posted_data, non_posted_headers;
};

// A store to BAR `bar` at byte `offset`, at `clock` or later, in order; its data follow, whole double words.
struct Store {
    uint64_t clock;
    uint32_t offset, bytes;
    uint8_t bar, first_be, last_be, zero;
};

// A load of the core's memory, BAR 4: `bytes` from byte `offset` on, at `clock` or later, in order.
struct Load {
    uint64_t clock;
    uint32_t offset, bytes;
};

struct Ran {
    uint64_t clock;
    uint32_t requests, responses, loaded;
    // Register accesses that remain.
    uint32_t accesses_left;
    uint32_t ended_tests;
};

// A request, with the clocks that took its first and its last beat; a write's data follow.
struct Request {
    uint64_t first_clock, last_clock, address;
    uint16_t dwords, tag;
    uint8_t write, first_be, last_be, zero;
};

struct Response {
    uint64_t clock;
    uint32_t data;
};

// The end of a load, in their order; its data follow.
struct Loaded {
    uint64_t clock;
    uint32_t bytes;
};

#pragma pack(pop)

} // namespace wire
