/* What the engines of this folder share: a host of the C library, tags, and a note of every TLP.
 *
 * Written from pcielab.h alone. An engine defines `work`, which sends what it can, and `read_done`. Each TLP is a line
 * of the output: what it is for, its bytes, when it had a tag and credits, and when it was done, in picoseconds. */
#include "pcielab.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_TAGS 768

typedef struct {
    const char *what;
    uint64_t index, sent;
    uint32_t length;
} read_note;

typedef struct {
    pcielab_port *port;
    pcielab_limits limits;
    pcielab_occupancy whole; /* All credits at home. */
    uint64_t now, link_free;
    int waits_for_link;
    uint16_t free_tags[MOST_TAGS];
    unsigned tags;
    read_note reads[MOST_TAGS];
} engine;

/* Sends at most one TLP; returns whether it did. */
static int work(engine *e);
/* All bytes of a read have come. */
static void read_done(const char *what, uint64_t index, uint32_t length);

static void check(int code, const char *what) {
    if (code >= 0) return;
    fprintf(stderr, "%s: %s\n", what, pcielab_code_text(code));
    exit(1);
}

/* Bytes of the next TLP of a transfer: up to a multiple of the limit, so that none crosses 4 KiB. */
static uint32_t cut(uint32_t limit, uint64_t offset, uint64_t left) {
    uint64_t most = limit - offset % limit;
    return (uint32_t)(left < most ? left : most);
}

/* Sends a TLP, if the link is free and there are a tag and credits. Credits alone would let a device hand over writes
 * far ahead of the link, and a read would wait behind them. */
static int send(engine *e, uint16_t kind, const char *what, uint64_t index, uint64_t offset, uint32_t length) {
    pcielab_tlp tlp = {0, length, 0, kind};
    pcielab_occupancy occupancy;
    pcielab_sent sent;
    if (e->link_free > e->now) {
        e->waits_for_link = 1;
        return 0;
    }
    if (kind == PCIELAB_KIND_READ) {
        if (!e->tags) return 0;
        tlp.tag = e->free_tags[e->tags - 1];
    }
    if (length) check(pcielab_port_address(e->port, offset, &tlp.address), what);
    if (!pcielab_port_has_room(e->port, &tlp)) return 0;
    check(pcielab_port_submit(e->port, &tlp, e->now, &sent), what);
    check(pcielab_port_occupancy(e->port, &occupancy), what);
    e->link_free = occupancy.uplink_free_ps;
    if (kind == PCIELAB_KIND_READ) {
        read_note note = {what, index, e->now, length};
        e->reads[tlp.tag] = note;
        e->tags--;
    } else {
        printf("%s %" PRIu32 " %" PRIu64 " %" PRIu64 "\n", what, length, e->now, sent.arrived_ps);
    }
    return 1;
}

/* Lets time pass until something happens; returns whether anything was under way. */
static int pass_time(engine *e) {
    pcielab_event event;
    uint64_t next = pcielab_port_next(e->port);
    if (e->waits_for_link && e->link_free < next) next = e->link_free;
    if (next == UINT64_MAX) return 0;
    e->waits_for_link = 0;
    check(pcielab_port_advance(e->port, next), "advance");
    if (next > e->now) e->now = next;
    while (pcielab_port_take(e->port, &event) == PCIELAB_CODE_DONE) {
        if (event.at_ps > e->now) e->now = event.at_ps;
        if (event.kind == PCIELAB_EVENT_KIND_COMPLETION && event.last) {
            read_note note = e->reads[event.tag];
            printf("%s %" PRIu32 " %" PRIu64 " %" PRIu64 "\n", note.what, note.length, note.sent, event.at_ps);
            e->free_tags[e->tags++] = event.tag;
            read_done(note.what, note.index, note.length);
        }
    }
    return 1;
}

/* Runs until nothing is left to do; every tag and credit has to be back then. */
static int run(const char *path) {
    static char json[1 << 20];
    static engine e;
    char text[512] = "";
    pcielab_occupancy left;
    FILE *system = fopen(path, "rb");
    if (!system) return perror(path), 1;
    check(pcielab_port_create(json, fread(json, 1, sizeof json, system), NULL, &e.port, text, sizeof text), text);
    check(pcielab_port_limits(e.port, &e.limits), "limits");
    check(pcielab_port_occupancy(e.port, &e.whole), "occupancy");
    for (e.tags = 0; e.tags < e.limits.tags; e.tags++) e.free_tags[e.tags] = (uint16_t)e.tags;
    do {
        while (work(&e)) {
        }
    } while (pass_time(&e));
    check(pcielab_port_occupancy(e.port, &left), "occupancy");
    if (e.tags != e.limits.tags || left.reads || left.posted_headers != e.whole.posted_headers ||
        left.posted_data != e.whole.posted_data || left.non_posted_headers != e.whole.non_posted_headers)
        return fprintf(stderr, "tags or credits are missing at the end\n"), 1;
    pcielab_port_free(e.port);
    return 0;
}
