/* Two devices behind one switch, both of this program: an engine that writes to or reads from the memory of the other
 * one, as the engines of the fabric simulator do. `peers DESCRIPTION ENGINE PEER write|read BYTES OUTSTANDING COUNT
 * EXECUTION INTERVAL INTAKE RETIRE WINDOW BAR_READ BAR_WRITE BAR_BYTE_FS STATUS_BYTES`: times in ps, WINDOW the TLPs in
 * flight. Each request is a line of the output: when it was submitted and done, in picoseconds.
 *
 * As C++ with -DRTL_CORE, `engine|peer PROGRAM BYTE_FS` follow: that end is the FPGA core in RTL. Valid C99 and C++. */
#include "pcielab.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef RTL_CORE
#include "rtl_core.hpp"
#endif

#define MOST 256
#define TIMERS 1024
#define SOFTWARE 150000

enum { EXECUTED, WRITTEN };
typedef struct {
    uint64_t at, bytes;
    int kind, request;
} timer;
typedef struct {
    uint64_t submitted, to_start, to_arrive;
    int has_status;
} request;

static pcielab_machine *machine;
static uint32_t host, engine, peer;
static pcielab_node_limits at_host, at_engine, at_peer;
static uint64_t size, count, execution, interval, intake, retire, window, bar_read, bar_write, bar_byte_fs, status_bytes;
static int writes;
static timer timers[TIMERS];
static int timer_count;
static request requests[MOST];
static int outstanding, queue[MOST], queued, first; /* The requests whose transfers are left, oldest first. */
static uint64_t now, intake_free, next_start, side_free, in_flight, started, done;
static int owner[1 << 14], free_tags[1 << 14], tags, at_source;
static int left_data[MOST * 4], left_first, left_end; /* Whether each TLP at the engine's port holds data. */
static int engine_is_core;
static uint64_t window_end = UINT64_MAX; /* When the core runs again. */

#ifdef RTL_CORE
static int peer_is_core;
static Core *core;
static std::deque<std::vector<uint8_t>> notices; /* On their way to the host. */
static std::deque<std::pair<int, uint64_t>> writing; /* Requests of the core, and their bytes that have not arrived. */
static std::deque<std::pair<uint64_t, uint32_t>> loading; /* Reads of the core's memory, and their bytes. */
#endif

static void check(int code, const char *what) {
    if (code >= 0) return;
    fprintf(stderr, "%s: %s\n", what, pcielab_code_text(code));
    exit(1);
}

static void later(uint64_t at, int kind, int number, uint64_t bytes) {
    timer made = {at, bytes, kind, number};
    if (timer_count == TIMERS) fprintf(stderr, "too many timers\n"), exit(1);
    timers[timer_count++] = made;
}

static uint64_t most(uint64_t one, uint64_t other) { return one > other ? one : other; }

static void submit(uint32_t node, uint16_t kind, uint64_t address, uint64_t bytes, uint16_t tag, uint64_t ready) {
    pcielab_tlp tlp = {address, (uint32_t)bytes, tag, kind};
    check(pcielab_machine_submit(machine, node, &tlp, ready), "submit");
    if (node == engine && kind == PCIELAB_KIND_WRITE)
        left_data[left_end++ % (MOST * 4)] = address >= at_peer.address && address - at_peer.address < at_peer.bytes;
}

/* A program of the host submits a request: its software, then a doorbell without data. */
static void begin(int number) {
    request *r = &requests[number];
    if (started++ >= count + outstanding) return;
    r->submitted = now;
    r->to_start = r->to_arrive = size;
    r->has_status = 0;
    submit(host, PCIELAB_KIND_MESSAGE, at_engine.address + 8 * (uint64_t)number, 0, 0, now + SOFTWARE);
}

static void command(int number) {
#ifdef RTL_CORE
    if (engine_is_core) {
        core->command(now, outstanding > 32 ? (uint32_t)number % 4 : 0, writes, at_peer.address, 0, (uint32_t)size, (uint16_t)number);
        writing.emplace_back(number, size);
        return;
    }
#endif
    uint64_t taken = most(now, intake_free), start = most(taken, next_start);
    intake_free = taken + intake;
    next_start = start + interval;
    later(start + execution, EXECUTED, number, 0);
}

static void status(int number, uint64_t ready) {
    submit(engine, PCIELAB_KIND_WRITE, at_host.address + 64 * (uint64_t)number, status_bytes, 0, ready);
}

/* Starts what the window, and the port for writes, have room for. */
static void transfer(void) {
    while (queued && in_flight < window && !(writes && at_source) && (writes || tags)) {
        int number = queue[first % MOST];
        request *r = &requests[number];
        uint64_t bytes = r->to_start < at_engine.mps_bytes ? r->to_start : at_engine.mps_bytes;
        uint16_t tag = writes ? (uint16_t)number : (uint16_t)free_tags[--tags];
        owner[tag] = number;
        submit(engine, writes ? PCIELAB_KIND_WRITE : PCIELAB_KIND_READ, at_peer.address + size - r->to_start, bytes, tag, now);
        in_flight++;
        at_source += writes;
        r->to_start -= bytes;
        if (r->to_start) continue;
        first++, queued--;
        if (writes) status(number, now); /* A posted write: its status follows the data. */
    }
}

static void finish(int number) {
    request *r = &requests[number];
    if (r->to_arrive || !r->has_status) return;
    printf("%" PRIu64 " %" PRIu64 "\n", r->submitted, now);
    done++;
    begin(number);
}

static void moved(int number, uint64_t bytes) {
    request *r = &requests[number];
    in_flight -= !engine_is_core;
    r->to_arrive -= bytes;
    if (!r->to_arrive && !writes) status(number, now + retire);
    if (writes) finish(number);
    transfer();
}

#ifdef RTL_CORE
/* The core runs up to the present time, and sends what it has. */
static void run_core(void) {
    for (const Core::Sent &sent : core->run(now)) {
        const wire::Request &r = sent.request;
        pcielab_tlp tlp = {r.address, sent.bytes(), r.tag, (uint16_t)(r.write ? PCIELAB_KIND_WRITE : PCIELAB_KIND_READ)};
        check(pcielab_machine_submit(machine, engine, &tlp, sent.at_ps), "submit of the core");
        if (r.write && r.address < at_host.address + at_host.bytes) notices.push_back(sent.data);
    }
    for (uint64_t ready : core->take_loaded()) {
        check(pcielab_machine_complete(machine, peer, loading.front().first, loading.front().second, ready, 0), "complete");
        loading.pop_front();
    }
    window_end += Core::WINDOW_PS;
}

/* An event that the core takes part in; returns whether it is dealt with. */
static int core_event(const pcielab_machine_event *e) {
    if (peer_is_core && e->kind == PCIELAB_MACHINE_EVENT_KIND_WRITE && e->node == peer)
        core->store(now, (uint32_t)(e->address - at_peer.address), e->length);
    if (peer_is_core && e->kind == PCIELAB_MACHINE_EVENT_KIND_READ) {
        core->load(now, (uint32_t)(e->address - at_peer.address), e->length);
        loading.emplace_back(e->number, e->length);
        return 1;
    }
    if (!engine_is_core) return 0;
    if (e->kind == PCIELAB_MACHINE_EVENT_KIND_COMPLETION) {
        core->complete(now, e->tag, e->address, e->length, e->byte_count);
        return 1;
    }
    if (e->kind == PCIELAB_MACHINE_EVENT_KIND_WRITE && e->node == host) {
        int number = core->take_notice(now, notices.front());
        notices.pop_front();
        requests[number].has_status = 1;
        if (!writes) requests[number].to_arrive = 0;
        finish(number);
        return 1;
    }
    if (e->kind == PCIELAB_MACHINE_EVENT_KIND_WRITE && e->node == peer) {
        side_free = most(now, side_free) + (e->length * bar_byte_fs + 500) / 1000;
        later(side_free + bar_write, WRITTEN, writing.front().first, e->length);
        if (!(writing.front().second -= e->length)) writing.pop_front();
        return 1;
    }
    return e->kind == PCIELAB_MACHINE_EVENT_KIND_CREDITS;
}
#endif

static void event(const pcielab_machine_event *e) {
#ifdef RTL_CORE
    if (core_event(e)) return;
#endif
    if (e->kind == PCIELAB_MACHINE_EVENT_KIND_CREDITS && e->node == engine && e->posted_data) {
        if (left_data[left_first++ % (MOST * 4)]) at_source--, transfer();
    } else if (e->kind == PCIELAB_MACHINE_EVENT_KIND_MESSAGE) {
        command((int)((e->address - at_engine.address) / 8));
    } else if (e->kind == PCIELAB_MACHINE_EVENT_KIND_WRITE && e->node == host) {
        int number = (int)((e->address - at_host.address) / 64);
        requests[number].has_status = 1;
        finish(number);
    } else if (e->kind == PCIELAB_MACHINE_EVENT_KIND_WRITE) { /* The memory of the peer takes it. */
        side_free = most(now, side_free) + (e->length * bar_byte_fs + 500) / 1000;
        later(side_free + bar_write, WRITTEN, e->tag, e->length);
    } else if (e->kind == PCIELAB_MACHINE_EVENT_KIND_READ) {
        side_free = most(now, side_free) + (e->length * bar_byte_fs + 500) / 1000;
        check(pcielab_machine_complete(machine, peer, e->number, e->length, side_free + bar_read, 0), "complete");
    } else if (e->kind == PCIELAB_MACHINE_EVENT_KIND_COMPLETION) {
        if (e->last) free_tags[tags++] = e->tag;
        moved(owner[e->tag], e->length);
    }
}

/* The next timer, or none. */
static timer *next_timer(void) {
    timer *found = NULL;
    for (int i = 0; i < timer_count; i++)
        if (!found || timers[i].at < found->at) found = &timers[i];
    return found;
}

int main(int argc, char **argv) {
    static char description[1 << 20];
    char text[512] = "";
    uint64_t *numbers[] = {&size, NULL, &count, &execution, &interval, &intake, &retire, &window, &bar_read, &bar_write, &bar_byte_fs, &status_bytes};
    FILE *file = argc == 17 || argc == 20 ? fopen(argv[1], "rb") : NULL;
    pcielab_machine_event e;
    if (!file) return fprintf(stderr, "usage: see the head of peers.c\n"), 1;
    for (int i = 0; i < 12; i++)
        if (numbers[i]) *numbers[i] = strtoull(argv[5 + i], NULL, 10);
    outstanding = atoi(argv[6]);
    writes = !strcmp(argv[4], "write");
    check(pcielab_machine_open(description, fread(description, 1, sizeof description, file), NULL, &machine, text, sizeof text), text);
    check(pcielab_machine_node(machine, "host", &host, text, sizeof text), text);
    check(pcielab_machine_node(machine, argv[2], &engine, text, sizeof text), text);
    check(pcielab_machine_node(machine, argv[3], &peer, text, sizeof text), text);
    check(pcielab_machine_attach(machine, engine, 0, text, sizeof text), text);
    check(pcielab_machine_attach(machine, peer, 0, text, sizeof text), text);
    check(pcielab_machine_limits(machine, host, &at_host), "host");
    check(pcielab_machine_limits(machine, engine, &at_engine), "engine");
    check(pcielab_machine_limits(machine, peer, &at_peer), "peer");
#ifdef RTL_CORE
    engine_is_core = argc == 20 && !strcmp(argv[17], "engine");
    peer_is_core = argc == 20 && !engine_is_core;
    if (argc == 20) {
        core = new Core(argv[18], at_host.address + 0x10000, (uint32_t)strtoul(argv[19], NULL, 10), at_engine.mps_bytes, 32);
        window_end = Core::WINDOW_PS;
    }
#endif
    for (tags = 0; tags < 1 << 14; tags++) free_tags[tags] = tags;
    for (int number = 0; number < outstanding; number++) begin(number);
    while (done < count) {
        timer *next = next_timer();
        uint64_t until = next ? next->at : UINT64_MAX;
        int code = pcielab_machine_wait(machine, until < window_end ? until : window_end, &e);
        check(code, "wait");
        now = pcielab_machine_now(machine);
        if (code == PCIELAB_CODE_DONE) {
            event(&e);
            continue;
        }
#ifdef RTL_CORE
        if (window_end < until) {
            run_core();
            continue;
        }
#endif
        if (!next) return fprintf(stderr, "nothing is on its way\n"), 1;
        timer fired = *next;
        *next = timers[--timer_count];
        if (fired.kind == WRITTEN) {
            moved(fired.request, fired.bytes);
        } else {
            queue[(first + queued++) % MOST] = fired.request;
            transfer();
        }
    }
    pcielab_machine_free(machine);
#ifdef RTL_CORE
    delete core;
#endif
    return 0;
}
