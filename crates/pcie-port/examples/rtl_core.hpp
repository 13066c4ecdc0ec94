// The FPGA core as a device of a machine: pcielab-rtl, the core in its own process, beside a program with pcielab.h.
//
// The core runs in windows of time behind the machine. What reaches it at time t enters it half a window later, and what it
// sends reaches its link half a window later, so that nothing comes too late: the description gives the core's node a
// `delay_ns` that is less by that half. Messages of the process are those of rtl/native/wire.hpp; registers are those of
// rtl/README.md.
#pragma once

#include "pcielab.h"
#include "wire.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <sys/types.h>
#include <sys/wait.h>
#include <type_traits>
#include <unistd.h>
#include <utility>
#include <vector>

class Core {
  public:
    // A TLP of the core: when it leaves, and the data of a write.
    struct Sent {
        uint64_t at_ps;
        wire::Request request;
        std::vector<uint8_t> data;
        // Bytes that it writes or asks for: whole double words but those that its byte enables leave out at the end.
        uint32_t bytes() const {
            uint8_t last = (request.dwords > 1 ? request.last_be : request.first_be) & 15;
            return 4u * request.dwords - (last & 8 ? 0 : last & 4 ? 1 : last & 2 ? 2 : 3);
        }
    };

    // `ring` is the bus address of 4 KiB of host memory for notices, `byte_fs` the time of a byte on the core's link.
    Core(const char *program, uint64_t ring, uint32_t byte_fs, uint32_t mps_bytes, uint32_t tags) {
        run_.react = UINT32_MAX;
        for (run_.max_payload = 0; 128u << run_.max_payload < mps_bytes; ++run_.max_payload) {}
        run_.max_read_request = run_.max_payload;
        run_.bus_master = 1;
        run_.byte_fs = byte_fs;
        run_.unit_bytes = 1;
        run_.backlog_fs = 80'000'000;
        start(program);
        credits_.push_back({0, 1u << 30, 1u << 30, 1u << 30});
        const uint32_t words[][2] = {
            {0x68, tags}, {0x180, 0}, {0x10, 1 << 2}, {0x1c, 2'500'000}, {0x2c, tags}, {0x198, uint32_t(ring)},
            {0x19c, uint32_t(ring >> 32)}, {0x1a0, 7}, {0x1a4, 0}, {0x180, 1},
        };
        for (const auto &word : words) accesses_.push_back({0, word[0], word[1], 1});
        // It fills its pools of tags.
        while (clock_ < 16'384) exchange(16'384);
        origin_ = clock_;
    }

    ~Core() {
        close(to_);
        close(from_);
        waitpid(child_, nullptr, 0);
    }

    // Twice what the description takes from the node's delay.
    static constexpr uint64_t WINDOW_PS = 80'000;

    // A command: the core writes its memory to the bus, or reads from the bus, in the order of a queue.
    void command(uint64_t at_ps, uint32_t queue, bool writes, uint64_t bus, uint32_t memory, uint32_t bytes, uint16_t number) {
        const uint32_t words[][2] = {
            {0x188, uint32_t(bus)}, {0x18c, uint32_t(bus >> 32)}, {0x190, memory}, {0x194, bytes},
            {0x1c0 + 4 * queue, uint32_t(writes) | 2u | uint32_t(number) << 16},
        };
        for (const auto &word : words) accesses_.push_back({entry(at_ps), word[0], word[1], 1});
    }

    // Data that another device has written to the core's BAR.
    void store(uint64_t at_ps, uint32_t offset, uint32_t bytes) {
        stores_.push_back({entry(at_ps), offset, bytes, 4, 15, 15, 0});
    }

    // A read of the core's BAR by another device; cores before version 4 of the messages have none.
    void load(uint64_t at_ps, uint32_t offset, uint32_t bytes) {
        if (wire::VERSION < 4) fail("the core answers no reads of its BAR");
        loads_.push_back({entry(at_ps), offset, bytes});
    }

    // When the data of each read are ready, in order, since the last call.
    std::vector<uint64_t> take_loaded() { return std::exchange(loaded_, {}); }

    // An answer to a read of the core.
    void complete(uint64_t at_ps, uint16_t tag, uint64_t address, uint32_t bytes, uint32_t byte_count) {
        completions_.push_back(
            {entry(at_ps), tag, uint16_t(byte_count), uint16_t(bytes / 4), uint8_t(address & 127), 0, 0, 1});
    }

    // The number of the command that a notice tells of; the core gets its entry of the ring back.
    uint16_t take_notice(uint64_t at_ps, const std::vector<uint8_t> &notice) {
        accesses_.push_back({entry(at_ps), 0x1a4, ++taken_, 1});
        return uint16_t(notice[28] | notice[29] << 8);
    }

    // Runs until the machine's time, which everything has reached; returns what the core has sent.
    std::vector<Sent> run(uint64_t until_ps) {
        const uint64_t until = origin_ + (until_ps + WINDOW_PS / 2) / hello_.clock_ps;
        while (clock_ < until) exchange(until);
        return std::exchange(sent_, {});
    }

  private:
#pragma pack(push, 1)
    struct Load {
        uint64_t clock;
        uint32_t offset, bytes;
    };
    struct Loaded {
        uint64_t clock;
        uint32_t bytes;
    };
#pragma pack(pop)

    // Fields that version 4 of the messages brought.
    template <class Run> static auto set_loads(Run &run, size_t count, int) -> decltype(run.loads, void()) {
        run.loads = uint32_t(count);
    }
    template <class Run> static void set_loads(Run &, size_t, long) {}
    template <class Ran> static auto loads_of(const Ran &ran, int) -> decltype(ran.loaded) { return ran.loaded; }
    template <class Ran> static uint32_t loads_of(const Ran &, long) { return 0; }

    uint64_t exit_ps(uint64_t clock) const { return (clock + 1 - origin_) * hello_.clock_ps + WINDOW_PS / 2; }

    uint64_t entry(uint64_t at_ps) const {
        return origin_ + (at_ps + WINDOW_PS / 2 + hello_.clock_ps - 1) / hello_.clock_ps;
    }

    [[noreturn]] static void fail(const std::string &problem) {
        std::fprintf(stderr, "pcielab-rtl: %s\n", problem.c_str());
        std::exit(1);
    }

    void start(const char *program) {
        int in[2], out[2];
        if (pipe(in) || pipe(out)) fail("no pipes");
        child_ = fork();
        if (child_ < 0) fail("no process");
        if (child_ == 0) {
            dup2(in[0], 0);
            dup2(out[1], 1);
            for (int end : {in[0], in[1], out[0], out[1]}) close(end);
            execl(program, program, static_cast<char *>(nullptr));
            _exit(127);
        }
        close(in[0]);
        close(out[1]);
        to_ = in[1];
        from_ = out[0];
        take(&hello_, sizeof hello_);
        if (hello_.magic != wire::MAGIC || hello_.version != wire::VERSION) fail("another version: run make rtl");
    }

    template <class Item> void put(const Item &item) {
        const auto *bytes = reinterpret_cast<const uint8_t *>(&item);
        sending_.insert(sending_.end(), bytes, bytes + sizeof item);
    }

    void exchange(uint64_t until) {
        sending_.clear();
        run_.until = until;
        run_.completions = uint32_t(completions_.size());
        run_.accesses = uint32_t(accesses_.size());
        run_.credits = uint32_t(credits_.size());
        run_.stores = uint32_t(stores_.size());
        set_loads(run_, loads_.size(), 0);
        put(run_);
        for (const auto &one : completions_) put(one), sending_.resize(sending_.size() + 4u * one.dwords);
        for (const auto &one : accesses_) put(one);
        for (const auto &one : credits_) put(one);
        for (const auto &one : stores_) put(one), sending_.resize(sending_.size() + one.bytes);
        for (const auto &one : loads_) put(one);
        completions_.clear(), accesses_.clear(), credits_.clear(), stores_.clear(), loads_.clear();
        for (size_t at = 0; at < sending_.size();) {
            const ssize_t written = write(to_, sending_.data() + at, sending_.size() - at);
            if (written <= 0) fail("it has ended");
            at += size_t(written);
        }
        wire::Ran ran;
        take(&ran, sizeof ran);
        for (uint32_t i = 0; i < ran.requests; ++i) {
            Sent one{};
            take(&one.request, sizeof one.request);
            one.data.resize(one.request.write ? 4u * one.request.dwords : 0);
            take(one.data.data(), one.data.size());
            one.at_ps = exit_ps(one.request.last_clock);
            sent_.push_back(std::move(one));
        }
        for (uint32_t i = 0; i < ran.responses; ++i) {
            wire::Response response;
            take(&response, sizeof response);
        }
        for (uint32_t i = 0; i < loads_of(ran, 0); ++i) {
            Loaded head;
            take(&head, sizeof head);
            std::vector<uint8_t> data(head.bytes);
            take(data.data(), data.size());
            loaded_.push_back(exit_ps(head.clock));
        }
        clock_ = ran.clock;
    }

    void take(void *to, size_t bytes) {
        for (auto *at = static_cast<uint8_t *>(to); bytes > 0;) {
            const ssize_t got = read(from_, at, bytes);
            if (got <= 0) fail("it has ended, or does not start");
            at += got;
            bytes -= size_t(got);
        }
    }

    pid_t child_ = -1;
    int to_ = -1, from_ = -1;
    wire::Hello hello_{};
    wire::Run run_{};
    uint64_t clock_ = 0, origin_ = 0;
    uint32_t taken_ = 0;
    std::vector<wire::Completion> completions_;
    std::vector<wire::Access> accesses_;
    std::vector<wire::Credit> credits_;
    std::vector<wire::Store> stores_;
    std::vector<Load> loads_;
    std::vector<uint64_t> loaded_;
    std::vector<uint8_t> sending_;
    std::vector<Sent> sent_;
};
