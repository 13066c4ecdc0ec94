/* A hook for a simulator of collectives, as SimAI: what one rank sends another crosses the PCIe of a machine.
 * `collective_hook DESCRIPTION BYTES CHANNELS RANK...` carries out a ring all-reduce of BYTES over the named devices, as
 * NCCL does, in CHANNELS rings at once, and prints its time in us and the bus bandwidth in GB/s. All simulated. Valid C99
 * and C++. */
#include "pcielab.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- The hook: `hook_send`, which the simulator calls where it asked a network model, and its answer. ---- */

#define MOST_RANKS 64
#define MOST_SENDS (1 << 20)
#define BAR_BYTES (1ULL << 30) /* Of a device whose description has no BAR. */

static pcielab_machine *machine;
static uint32_t nodes[MOST_RANKS];
static uint64_t memories[MOST_RANKS];
static uint32_t sends[MOST_SENDS]; /* What the simulator wants back when a send has arrived. */

static void check(int code, const char *what) {
    if (code >= 0) return;
    fprintf(stderr, "%s: %s\n", what, pcielab_code_text(code));
    exit(1);
}

static void hook_open(const char *path, int ranks, char **names) {
    static char text[1 << 20], wrong[512];
    FILE *file = fopen(path, "rb");
    if (!file) perror(path), exit(1);
    size_t length = fread(text, 1, sizeof text, file);
    fclose(file);
    check(pcielab_machine_open(text, length, NULL, &machine, wrong, sizeof wrong), wrong);
    for (int rank = 0; rank < ranks; rank++) {
        pcielab_node_limits limits;
        check(pcielab_machine_node(machine, names[rank], &nodes[rank], wrong, sizeof wrong), wrong);
        check(pcielab_machine_limits(machine, nodes[rank], &limits), names[rank]);
        /* The memory of a rank takes what the link brings. */
        check(pcielab_machine_attach(machine, nodes[rank], limits.bytes ? 0 : BAR_BYTES, wrong, sizeof wrong), wrong);
        check(pcielab_machine_limits(machine, nodes[rank], &limits), names[rank]);
        memories[rank] = limits.address;
    }
}

static void hook_send(int from, int to, uint64_t bytes, uint32_t what) {
    uint64_t number, now = pcielab_machine_now(machine);
    check(pcielab_machine_transfer(machine, nodes[from], PCIELAB_KIND_WRITE, memories[to], bytes, now, &number), "send");
    if (number >= MOST_SENDS) fprintf(stderr, "too many sends\n"), exit(1);
    sends[number] = what;
}

/* Waits for the next send that has arrived; returns whether there is one. */
static int hook_wait(uint32_t *what) {
    pcielab_machine_event event;
    int code;
    while ((code = pcielab_machine_wait(machine, UINT64_MAX, &event)) == PCIELAB_CODE_DONE)
        if (event.kind == PCIELAB_MACHINE_EVENT_KIND_DONE) return *what = sends[event.number], 1;
    check(code, "wait");
    return 0;
}

/* ---- The stub of the simulator: rings in which each rank passes on what it has got. ---- */

#define MOST_CHANNELS 16

static int ranks, channels;
static int passed[MOST_CHANNELS][MOST_RANKS]; /* Chunks that a rank has sent. */

/* A rank sends the next chunk of a ring to its neighbour: reduce-scatter and all-gather take ranks - 1 steps each. */
static void step(int channel, int rank, uint64_t chunk) {
    if (passed[channel][rank]++ < 2 * (ranks - 1))
        hook_send(rank, (rank + 1) % ranks, chunk, (uint32_t)(channel * MOST_RANKS + (rank + 1) % ranks));
}

int main(int argc, char **argv) {
    uint32_t what;
    uint64_t arrived = 0;
    ranks = argc - 4;
    if (ranks < 2 || ranks > MOST_RANKS) return fprintf(stderr, "usage: see the head of collective_hook.c\n"), 1;
    uint64_t bytes = strtoull(argv[2], NULL, 10);
    channels = atoi(argv[3]);
    if (channels < 1 || channels > MOST_CHANNELS) return fprintf(stderr, "give 1 to 16 channels\n"), 1;
    uint64_t chunk = bytes / (uint64_t)(ranks * channels);
    hook_open(argv[1], ranks, argv + 4);
    for (int channel = 0; channel < channels; channel++)
        for (int rank = 0; rank < ranks; rank++) step(channel, rank, chunk);
    while (hook_wait(&what)) {
        arrived++;
        step((int)(what / MOST_RANKS), (int)(what % MOST_RANKS), chunk);
    }
    double us = (double)pcielab_machine_now(machine) * 1e-6;
    double moved = 2.0 * (ranks - 1) / ranks * (double)bytes;
    printf("%.3f %.4f\n", us, moved / us * 1e-3);
    pcielab_machine_free(machine);
    return arrived != (uint64_t)channels * (uint64_t)ranks * 2 * (uint64_t)(ranks - 1);
}
