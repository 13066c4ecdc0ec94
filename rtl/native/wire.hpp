// What pcielab-rtl and the program that drives it say to each other: little-endian, over the process's standard input and
// output. crates/pcie-rtl/src/wire.rs is the other end; a change here is a change there, and of VERSION.
//
// The process speaks first (Hello). Then each exchange is a Run with its items, answered by a Ran with its own.
#pragma once

#include <cstdint>

namespace wire {

constexpr uint32_t MAGIC = 0x4c54'5250; // "PRTL"
constexpr uint32_t VERSION = 2;

#pragma pack(push, 1)

struct Hello {
    uint32_t magic, version, data_bytes, tags, records, clock_ps;
};

// Goes on until clock `until`, or `react` clocks after the first request that leaves in this exchange was taken, or until
// the last register access is done with, or a test has ended; whatever comes first. Events behind that clock are kept.
struct Run {
    uint64_t until;
    uint32_t react;
    uint32_t completions, accesses, credits, stores;
    uint8_t max_payload, max_read_request, bus_master, reset;
    // The uplink as the hard block's transmit buffer sees it: femtoseconds a byte, what a TLP occupies besides its payload,
    // in whole units, and how much of it may wait.
    uint32_t byte_fs, read_bytes, write_bytes, unit_bytes, backlog_fs;
};

// A completion whose first beat may be presented at `clock`; its data follow, whole double words.
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

// Credits that come back at `clock`. What there is at the start comes with the first exchange.
struct Credit {
    uint64_t clock;
    uint32_t posted_headers, posted_data, non_posted_headers;
};

// A store to the window of messages, presented at `clock` or later, one behind the other; its data follow.
struct Store {
    uint64_t clock;
    uint32_t place, bytes;
};

struct Ran {
    uint64_t clock;
    uint32_t requests, responses;
    // Register accesses that are still to be done.
    uint32_t accesses_left;
    uint32_t ended_tests;
};

// A request, from the clock in which its first beat was taken to that of its last; a write's data follow.
struct Request {
    uint64_t first_clock, last_clock, address;
    uint16_t dwords, tag;
    uint8_t write, first_be, last_be, zero;
};

struct Response {
    uint64_t clock;
    uint32_t data;
};

#pragma pack(pop)

} // namespace wire
