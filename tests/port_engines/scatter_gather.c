/* A scatter-gather engine: it fetches descriptors of 16 bytes, eight at a time and ahead of their use, and moves the
 * piece of memory that each describes, in order. When all bytes of eight pieces are there, it writes their statuses.
 * Pieces are of uneven lengths, anywhere. `scatter_gather SYSTEM.json read|write DESCRIPTORS` */
#include "engine.h"
#include <string.h>

#define TOGETHER 8 /* Descriptors of a fetch, and statuses of a write. */
#define AHEAD 256 /* Descriptors that are held. */
#define RING 4096 /* Bytes of the ring of descriptors; a page of statuses follows, then the pieces. */

static const uint32_t lengths[] = {4096, 512, 1500, 64, 2048, 1024, 192, 9000};
static uint64_t total, asked, fetched, moved, written; /* Descriptors. */
static uint64_t at;                                    /* Bytes of the piece that is being moved. */
static uint32_t missing[2 * AHEAD];                    /* Bytes of a piece that have not come. */
static int writes;

static uint32_t length_of(uint64_t index) { return lengths[index % 8]; }

/* Pieces start at multiples of 64, scattered over 12 places of 16 KiB. */
static uint64_t offset_of(uint64_t index) { return 8192 + index * 5 % 12 * 16384 + index % 5 * 64; }

static int send_statuses(engine *e) {
    for (uint64_t i = written; i < written + TOGETHER; i++)
        if (i >= moved || missing[i % (2 * AHEAD)]) return 0;
    if (!send(e, PCIELAB_KIND_WRITE, "statuses", written, RING + written % 256 * 16, TOGETHER * 16)) return 0;
    written += TOGETHER;
    return 1;
}

static int send_fetch(engine *e) {
    if (asked == total || asked - written + TOGETHER > AHEAD) return 0;
    if (!send(e, PCIELAB_KIND_READ, "descriptors", asked, asked % 256 * 16, TOGETHER * 16)) return 0;
    asked += TOGETHER;
    return 1;
}

static int send_piece(engine *e) {
    uint64_t offset = offset_of(moved) + at;
    uint32_t limit = writes ? e->limits.mps_bytes : e->limits.mrrs_bytes;
    if (moved == fetched) return 0;
    uint32_t length = cut(limit, offset, length_of(moved) - at);
    if (!send(e, writes ? PCIELAB_KIND_WRITE : PCIELAB_KIND_READ, writes ? "write" : "read", moved, offset, length))
        return 0;
    if (!writes) missing[moved % (2 * AHEAD)] += length;
    at += length;
    if (at == length_of(moved)) moved++, at = 0;
    return 1;
}

static int work(engine *e) { return send_statuses(e) || send_fetch(e) || send_piece(e); }

static void read_done(const char *what, uint64_t index, uint32_t length) {
    static unsigned char here[1 << 16];
    if (strcmp(what, "descriptors")) {
        missing[index % (2 * AHEAD)] -= length;
        return;
    }
    /* They may come in any order, and are used in their own. */
    here[index / TOGETHER] = 1;
    while (fetched < asked && here[fetched / TOGETHER]) fetched += TOGETHER;
}

int main(int count, char **arguments) {
    if (count != 4) return fprintf(stderr, "usage: scatter_gather SYSTEM.json read|write DESCRIPTORS\n"), 1;
    writes = !strcmp(arguments[2], "write");
    total = strtoull(arguments[3], NULL, 10) / TOGETHER * TOGETHER;
    return run(arguments[1]);
}
