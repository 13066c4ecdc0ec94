/* An AXI DMA engine behind a bridge to PCI Express: a channel that reads host memory (MM2S) and one that writes it
 * (S2MM), each in bursts of 16 beats of 32 bytes. Bursts of a channel have one ID, so that their data come in order: a
 * burst that is done waits for those before it. `axi_dma SYSTEM.json MM2S-BYTES S2MM-BYTES OUTSTANDING` */
#include "engine.h"

#define BURST 512
#define MOST 1024
#define WINDOW 65536

typedef struct {
    uint64_t bursts, sent, delivered;
    uint32_t at;                  /* Bytes of the burst that have been asked for. */
    uint32_t missing[MOST]; /* Bytes of a burst in flight. */
} channel;

static channel mm2s, s2mm;
static uint64_t outstanding; /* Bursts of a channel whose data may be on their way or wait for others. */
static int turn;

static int send_part(engine *e, channel *c, uint16_t kind, const char *what) {
    uint64_t offset = c->sent * BURST % WINDOW + c->at;
    uint32_t limit = kind == PCIELAB_KIND_READ ? e->limits.mrrs_bytes : e->limits.mps_bytes;
    if (c->sent == c->bursts || c->sent - c->delivered == outstanding) return 0;
    uint32_t length = cut(limit, offset, BURST - c->at);
    if (!send(e, kind, what, c->sent, offset, length)) return 0;
    if (c->at == 0) c->missing[c->sent % MOST] = BURST;
    c->at += length;
    if (kind == PCIELAB_KIND_WRITE) c->missing[c->sent % MOST] -= length;
    if (c->at == BURST) c->sent++, c->at = 0;
    while (c->delivered < c->sent && !c->missing[c->delivered % MOST]) c->delivered++;
    return 1;
}

/* The bridge takes the two channels in turns; a burst of writes passes whole. */
static int work(engine *e) {
    for (int tried = 0; tried < 2; tried++) {
        int sent = turn ? send_part(e, &s2mm, PCIELAB_KIND_WRITE, "write")
                        : send_part(e, &mm2s, PCIELAB_KIND_READ, "read");
        if (!sent && turn && s2mm.at) return 0;
        if (!(turn ? s2mm.at : mm2s.at)) turn = !turn;
        if (sent) return 1;
    }
    return 0;
}

static void read_done(const char *what, uint64_t index, uint32_t length) {
    (void)what;
    mm2s.missing[index % MOST] -= length;
    while (mm2s.delivered < mm2s.sent && !mm2s.missing[mm2s.delivered % MOST]) mm2s.delivered++;
}

int main(int count, char **arguments) {
    outstanding = count == 5 ? strtoull(arguments[4], NULL, 10) : 0;
    if (!outstanding || outstanding > MOST)
        return fprintf(stderr, "usage: axi_dma SYSTEM.json MM2S-BYTES S2MM-BYTES OUTSTANDING, at most 1024\n"), 1;
    mm2s.bursts = strtoull(arguments[2], NULL, 10) / BURST;
    s2mm.bursts = strtoull(arguments[3], NULL, 10) / BURST;
    return run(arguments[1]);
}
