/* A NIC with a ring of descriptors each way, at a line that never waits. It fetches descriptors in batches of 16, 16
 * bytes each; a received packet is written to its buffer, a sent one is read; both get a completion of 16 bytes, four in
 * a write, and every 64th packet an interrupt behind its completion. Receive and transmit take turns.
 * `nic_rings SYSTEM.json PACKET-BYTES RECEIVED SENT` */
#include "engine.h"
#include <string.h>

#define BATCH 16
#define RING 48 /* Descriptors, each with a buffer of 2 KiB. */
#define COALESCED 4
#define PER_INTERRUPT 64

typedef struct {
    const char *fetch, *data, *completion;
    uint64_t page;                                      /* Of its descriptors; completions and buffers follow. */
    uint64_t packets, asked, fetched, moved, completed; /* Packets, or their descriptors. */
    uint64_t due;                                       /* Interrupts. */
    uint32_t at;                                        /* Bytes of the packet that have been sent or asked for. */
    uint32_t missing[RING];                             /* Bytes of a packet that have not come. */
    unsigned char here[1 << 16];                        /* Batches of descriptors that have come. */
} ring;

static ring receive = {"rx-descriptors", "rx", "rx-completions", 0, 0, 0, 0, 0, 0, 0, 0, {0}, {0}};
static ring transmit = {"tx-descriptors", "tx", "tx-completions", 32, 0, 0, 0, 0, 0, 0, 0, {0}, {0}};
static uint32_t packet_bytes;
static int turn;

static uint64_t page_of(const ring *r, uint64_t page) { return (r->page + page) * 4096; }

static uint64_t buffer_of(const ring *r, uint64_t packet) { return page_of(r, 2) + packet % RING * 2048; }

static int send_completions(engine *e, ring *r) {
    uint64_t done = r->completed, last;
    while (done < r->moved && !r->missing[done % RING]) done++;
    last = done == r->packets ? done : done / COALESCED * COALESCED;
    if (last <= r->completed) return 0;
    if (last > r->completed + COALESCED) last = r->completed + COALESCED;
    uint32_t length = (uint32_t)(last - r->completed) * 16;
    if (!send(e, PCIELAB_KIND_WRITE, r->completion, 0, page_of(r, 1) + r->completed % RING * 16, length)) return 0;
    r->due += last / PER_INTERRUPT - r->completed / PER_INTERRUPT;
    r->completed = last;
    return 1;
}

static int send_interrupt(engine *e, ring *r) {
    if (!r->due || !send(e, PCIELAB_KIND_MESSAGE, "interrupt", 0, 0, 0)) return 0;
    r->due--;
    return 1;
}

static int send_fetch(engine *e, ring *r) {
    if (r->asked >= r->packets || r->asked + BATCH - r->completed > RING) return 0;
    if (!send(e, PCIELAB_KIND_READ, r->fetch, r->asked, page_of(r, 0) + r->asked % RING * 16, BATCH * 16)) return 0;
    r->asked += BATCH;
    return 1;
}

static int send_packet(engine *e, ring *r, uint16_t kind) {
    uint64_t offset = buffer_of(r, r->moved) + r->at;
    uint32_t limit = kind == PCIELAB_KIND_READ ? e->limits.mrrs_bytes : e->limits.mps_bytes;
    if (r->moved == r->fetched || r->moved == r->packets) return 0;
    uint32_t length = cut(limit, offset, packet_bytes - r->at);
    if (!send(e, kind, r->data, r->moved, offset, length)) return 0;
    if (kind == PCIELAB_KIND_READ) r->missing[r->moved % RING] += length;
    r->at += length;
    if (r->at == packet_bytes) r->moved++, r->at = 0;
    return 1;
}

static int work(engine *e) {
    ring *rings[] = {&receive, &transmit};
    for (int i = 0; i < 2; i++)
        if (send_interrupt(e, rings[i]) || send_completions(e, rings[i]) || send_fetch(e, rings[i])) return 1;
    for (int tried = 0; tried < 2; tried++) {
        int sent = turn ? send_packet(e, &transmit, PCIELAB_KIND_READ) : send_packet(e, &receive, PCIELAB_KIND_WRITE);
        if (!sent && rings[turn]->at) return 0;
        if (!rings[turn]->at) turn = !turn;
        if (sent) return 1;
    }
    return 0;
}

static void read_done(const char *what, uint64_t index, uint32_t length) {
    ring *r = what[0] == 'r' ? &receive : &transmit;
    if (!strcmp(what, transmit.data)) {
        r->missing[index % RING] -= length;
        return;
    }
    r->here[index / BATCH] = 1;
    while (r->fetched < r->asked && r->here[r->fetched / BATCH]) r->fetched += BATCH;
}

int main(int count, char **arguments) {
    if (count != 5) return fprintf(stderr, "usage: nic_rings SYSTEM.json PACKET-BYTES RECEIVED SENT\n"), 1;
    packet_bytes = (uint32_t)strtoul(arguments[2], NULL, 10);
    receive.packets = strtoull(arguments[3], NULL, 10);
    transmit.packets = strtoull(arguments[4], NULL, 10);
    return run(arguments[1]);
}
