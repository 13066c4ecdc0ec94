// SPDX-License-Identifier: Apache-2.0
// pcielab-rtl: the verilated core in its own process, without a host. Another program sends the inputs of each clock and gets
// the outputs back; simulated time stands still meanwhile. The process ends with its input.
#include "Vpcielab_core.h"
#include "verilated.h"
#include "wire.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#ifndef DATA_BYTES
#error "build with rtl/native/build.py, which defines the core's parameters"
#endif

namespace {

// ---- the pipe

void fail(const char *problem) {
    std::fprintf(stderr, "pcielab-rtl: %s\n", problem);
    std::exit(1);
}

// Returns false at the end of the input, which is allowed only between exchanges.
bool take(void *to, size_t bytes, bool between = false) {
    const size_t got = std::fread(to, 1, bytes, stdin);
    if (got == 0 && between) return false;
    if (got != bytes) fail("the input ended in the middle of an exchange");
    return true;
}

template <typename T> T take() {
    T value;
    take(&value, sizeof value);
    return value;
}

class Reply {
  public:
    template <typename T> void add(const T &value) { add(&value, sizeof value); }
    void add(const void *from, size_t bytes) {
        const auto *start = static_cast<const uint8_t *>(from);
        bytes_.insert(bytes_.end(), start, start + bytes);
    }
    std::vector<uint8_t> take() { return std::exchange(bytes_, {}); }
    void send(const wire::Ran &head) {
        std::fwrite(&head, 1, sizeof head, stdout);
        std::fwrite(bytes_.data(), 1, bytes_.size(), stdout);
        if (std::fflush(stdout) != 0) fail("nobody reads the output");
        bytes_.clear();
    }

  private:
    std::vector<uint8_t> bytes_;
};

// ---- the ends of the core's streams

struct Incoming {
    wire::Completion head;
    std::vector<uint8_t> data;
};

// The hard block's limits on requests: credits, and space in its transmit buffer.
class Uplink {
  public:
    void set(const wire::Run &run) { run_ = run; }
    void give(const wire::Credit &credit) {
        posted_headers_ += credit.posted_headers;
        posted_data_ += credit.posted_data;
        non_posted_headers_ += credit.non_posted_headers;
    }
    bool lets(bool write, uint32_t dwords, uint64_t now_fs) const {
        if (free_fs_ > now_fs + run_.backlog_fs) return false;
        return write ? posted_headers_ > 0 && posted_data_ >= (dwords + 3) / 4 : non_posted_headers_ > 0;
    }
    void send(bool write, uint32_t dwords, uint64_t now_fs) {
        if (write) {
            --posted_headers_;
            posted_data_ -= (dwords + 3) / 4;
        } else {
            --non_posted_headers_;
        }
        const uint32_t bytes = write ? run_.write_bytes + 4 * dwords : run_.read_bytes;
        const uint32_t units = (bytes + run_.unit_bytes - 1) / run_.unit_bytes;
        free_fs_ = std::max(free_fs_, now_fs) + uint64_t{units} * run_.unit_bytes * run_.byte_fs;
    }

  private:
    wire::Run run_{};
    int64_t posted_headers_ = 0, posted_data_ = 0, non_posted_headers_ = 0;
    uint64_t free_fs_ = 0;
};

struct Stored {
    wire::Store head;
    std::vector<uint8_t> data;
};

// Puts a field of up to 64 bits into a packed structure.
template <typename Words> void put(Words &words, unsigned low, unsigned width, uint64_t value) {
    for (unsigned bit = 0; bit < width; ++bit)
        if (value >> bit & 1) words[(low + bit) / 32] |= 1u << (low + bit) % 32;
}

class Device {
  public:
    Device() {
        // No host takes interrupts.
        core_->store_valid = 0;
        core_->load_valid = 0;
        core_->msix_enable = 0;
        // The host cuts completions at 64 bytes, and the driver limits the tags.
        core_->completion_boundary_128 = 0;
        core_->extended_tags_known = 0;
        core_->extended_tags = 0;
        core_->ten_bit_tags = 0;
        // `tx_ready` limits requests by their credits.
        core_->posted_credit = 1;
        core_->non_posted_credit = 1;
        core_->clk = 0;
        core_->rst = 1;
        for (int i = 0; i < 4; ++i) clock();
        core_->rst = 0;
        now_ = 0;
    }

    wire::Ran run(const wire::Run &run, Reply &reply) {
        core_->max_payload = run.max_payload;
        core_->max_read_request = run.max_read_request;
        core_->bus_master = run.bus_master;
        core_->function_reset = run.reset;
        uplink_.set(run);
        for (uint32_t i = 0; i < run.completions; ++i) {
            Incoming incoming{take<wire::Completion>(), {}};
            incoming.data.resize(incoming.head.has_data ? 4 * incoming.head.dwords : 0);
            take(incoming.data.data(), incoming.data.size());
            completions_.push_back(std::move(incoming));
        }
        for (uint32_t i = 0; i < run.accesses; ++i) accesses_.push_back(take<wire::Access>());
        // Credits of writes and of reads return independently: keep them in order.
        for (uint32_t i = 0; i < run.credits; ++i) {
            const auto credit = take<wire::Credit>();
            const auto later = [](const wire::Credit &a, const wire::Credit &b) { return a.clock < b.clock; };
            credits_.insert(std::upper_bound(credits_.begin(), credits_.end(), credit, later), credit);
        }

        for (uint32_t i = 0; i < run.stores; ++i) {
            Stored stored{take<wire::Store>(), {}};
            stored.data.resize(stored.head.bytes);
            take(stored.data.data(), stored.data.size());
            stores_.push_back(std::move(stored));
        }

        for (uint32_t i = 0; i < run.loads; ++i) {
            const auto load = take<wire::Load>();
            if (load.bytes == 0 || load.bytes > MAX_LOAD) fail("a load has no bytes, or too many");
            loads_.push_back(load);
        }

        wire::Ran ran{};
        bool silent = !sending_;
        uint64_t until = silent ? run.until : std::min<uint64_t>(run.until, now_ + run.react);
        const bool accessed = !accesses_.empty() || awaited_ > 0;
        const auto accesses_done = [&] { return accessed && accesses_.empty() && awaited_ == 0; };
        while (now_ < until && !accesses_done() && ran.ended_tests == 0) {
            const bool was_silent = silent;
            step(ran, reply);
            silent = ran.requests == 0 && !sending_;
            if (was_silent && !silent) until = std::min(until, now_ + run.react);
        }
        ran.clock = now_;
        ran.accesses_left = static_cast<uint32_t>(accesses_.size()) + awaited_;
        return ran;
    }

  private:
    void step(wire::Ran &ran, Reply &reply) {
        while (!credits_.empty() && credits_.front().clock <= now_) {
            uplink_.give(credits_.front());
            credits_.pop_front();
        }
        drive_completion();
        drive_access();
        drive_store();
        drive_load();
        const uint64_t now_fs = now_ * CLOCK_FS;
        core_->tx_ready = sending_ || (core_->tx_valid && uplink_.lets(core_->tx_write, core_->tx_dwords, now_fs));
        core_->eval();
        const bool taken = core_->tx_valid && core_->tx_ready;
        const bool access_taken = core_->reg_valid && core_->reg_ready;
        const bool store_taken = core_->store_valid && core_->store_ready;
        const bool load_taken = core_->load_valid && core_->load_ready;
        if (taken) take_beat(ran, reply, now_fs);
        clock();
        unbroken_ = load_taken ? unbroken_ + 1 : 0;
        if (load_taken && ++beats_asked_ == beats_of(loads_[asked_])) {
            ++asked_;
            beats_asked_ = 0;
        }
        if (core_->load_response_valid) take_loaded(ran);
        if (access_taken) {
            awaited_ += accesses_.front().write == 0;
            accesses_.pop_front();
        }
        if (store_taken) {
            stored_ += DATA_BYTES;
            if (stored_ >= stores_.front().data.size()) {
                stores_.pop_front();
                stored_ = 0;
            }
        }
        if (core_->reg_response_valid) {
            responses_.push_back({now_, core_->reg_response_data});
            ++ran.responses;
            --awaited_;
        }
        if (core_->test_ended) ++ran.ended_tests;
        ++now_;
    }

    void drive_completion() {
        core_->rx_valid = !completions_.empty() && completions_.front().head.clock <= now_;
        if (!core_->rx_valid) return;
        const Incoming &incoming = completions_.front();
        const size_t left = incoming.data.size() - sent_;
        core_->rx_sop = sent_ == 0;
        core_->rx_eop = left <= DATA_BYTES;
        core_->rx_tag = incoming.head.tag;
        core_->rx_status = incoming.head.status;
        core_->rx_poisoned = incoming.head.poisoned;
        core_->rx_byte_count = incoming.head.byte_count;
        core_->rx_lower_address = incoming.head.lower_address;
        core_->rx_dwords = incoming.head.dwords;
        std::memcpy(&core_->rx_data[0], incoming.data.data() + sent_, std::min<size_t>(left, DATA_BYTES));
        sent_ += DATA_BYTES;
        if (core_->rx_eop) {
            sent_ = 0;
            done_completion_ = true;
        }
    }

    void drive_access() {
        core_->reg_valid = !accesses_.empty() && accesses_.front().clock <= now_;
        if (!core_->reg_valid) return;
        core_->reg_write = accesses_.front().write != 0;
        core_->reg_address = accesses_.front().address;
        core_->reg_data = accesses_.front().data;
    }

    // As the completer hands it over: a host_request_t of rtl/src/pcielab_pkg.sv that writes to a BAR.
    void drive_store() {
        core_->store_valid = !stores_.empty() && stores_.front().head.clock <= now_;
        if (!core_->store_valid) return;
        const Stored &stored = stores_.front();
        const size_t left = stored.data.size() - stored_;
        core_->store_sop = stored_ == 0;
        core_->store_eop = left <= DATA_BYTES;
        for (auto &word : core_->store.m_storage) word = 0;
        put(core_->store, 30, 4, stored.head.last_be);
        put(core_->store, 34, 4, stored.head.first_be);
        put(core_->store, 38, 11, stored.data.size() / 4);
        put(core_->store, 49, 64, stored.head.offset);
        put(core_->store, 113, 5, 1 << 3 | stored.head.bar);
        std::memcpy(&core_->store_data[0], stored.data.data() + stored_, std::min<size_t>(left, DATA_BYTES));
    }

    // A load touches beats, which are requested one each clock and come in order.
    static uint32_t beats_of(const wire::Load &load) {
        return (load.offset % DATA_BYTES + load.bytes + DATA_BYTES - 1) / DATA_BYTES;
    }

    // Writes of commands start while no load waits: after a turn of loads, a clock has none.
    void drive_load() {
        const bool pauses = beats_asked_ == 0 && unbroken_ >= LOAD_TURN;
        core_->load_valid = asked_ < loads_.size() && loads_[asked_].clock <= now_ && !pauses;
        if (core_->load_valid) core_->load_address = (loads_[asked_].offset / DATA_BYTES + beats_asked_) * DATA_BYTES;
    }

    void take_loaded(wire::Ran &ran) {
        const auto *beat = reinterpret_cast<const uint8_t *>(&core_->load_response_data[0]);
        loading_.insert(loading_.end(), beat, beat + DATA_BYTES);
        const wire::Load load = loads_.front();
        if (loading_.size() < size_t{beats_of(load)} * DATA_BYTES) return;
        loaded_.add(wire::Loaded{now_, load.bytes});
        loaded_.add(loading_.data() + load.offset % DATA_BYTES, load.bytes);
        loads_.pop_front();
        loading_.clear();
        --asked_;
        ++ran.loaded;
    }

    void take_beat(wire::Ran &ran, Reply &reply, uint64_t now_fs) {
        if (core_->tx_sop) {
            request_ = {now_, now_, core_->tx_address, static_cast<uint16_t>(core_->tx_dwords), core_->tx_tag,
                        core_->tx_write, core_->tx_first_be, core_->tx_last_be, 0};
            uplink_.send(core_->tx_write, core_->tx_dwords, now_fs);
            payload_.clear();
        }
        if (core_->tx_write) {
            const auto *beat = reinterpret_cast<const uint8_t *>(&core_->tx_data[0]);
            payload_.insert(payload_.end(), beat, beat + DATA_BYTES);
        }
        sending_ = !core_->tx_eop;
        if (!core_->tx_eop) return;
        request_.last_clock = now_;
        reply.add(request_);
        if (core_->tx_write) reply.add(payload_.data(), 4 * request_.dwords);
        ++ran.requests;
    }

    void clock() {
        core_->clk = 1;
        core_->eval();
        core_->clk = 0;
        if (done_completion_) completions_.pop_front();
        done_completion_ = false;
    }

  public:
    std::vector<wire::Response> responses() { return std::exchange(responses_, {}); }
    std::vector<uint8_t> loaded() { return loaded_.take(); }

  private:
    // The most that a read request asks for.
    static constexpr uint32_t MAX_LOAD = 4096;
    // Beats without a pause, after which the next load waits for one.
    static constexpr uint32_t LOAD_TURN = 16;
    static constexpr uint64_t CLOCK_FS = uint64_t{CLOCK_PS} * 1000;
    std::unique_ptr<Vpcielab_core> core_ = std::make_unique<Vpcielab_core>();
    uint64_t now_ = 0;
    std::deque<Incoming> completions_;
    size_t sent_ = 0;
    bool done_completion_ = false;
    std::deque<wire::Access> accesses_;
    std::deque<wire::Credit> credits_;
    std::deque<Stored> stores_;
    size_t stored_ = 0;
    std::deque<wire::Load> loads_;
    // Loads whose beats are all requested, beats requested of the next one, and those requested without a pause.
    size_t asked_ = 0;
    uint32_t beats_asked_ = 0, unbroken_ = 0;
    // What has come of the first load.
    std::vector<uint8_t> loading_;
    Reply loaded_;
    Uplink uplink_;
    wire::Request request_{};
    std::vector<uint8_t> payload_;
    bool sending_ = false;
    std::vector<wire::Response> responses_;
    // Register reads that were taken and are not yet answered.
    uint32_t awaited_ = 0;
};

} // namespace

int main() {
    const wire::Hello hello{wire::MAGIC, wire::VERSION, DATA_BYTES, TAGS, RECORDS, CLOCK_PS};
    std::fwrite(&hello, 1, sizeof hello, stdout);
    std::fflush(stdout);
    Device device;
    Reply reply;
    wire::Run run;
    while (take(&run, sizeof run, true)) {
        if (run.unit_bytes == 0) fail("unit_bytes is 0");
        const wire::Ran ran = device.run(run, reply);
        for (const wire::Response &response : device.responses()) reply.add(response);
        const auto loaded = device.loaded();
        reply.add(loaded.data(), loaded.size());
        reply.send(ran);
    }
}
