/* A hook for a storage simulator, as FEMU: its drives sit behind the switches of a machine, and their data go over PCIe to
 * host memory or to a GPU. `storage_hook DESCRIPTION TARGET BYTES DEPTH COUNT DRIVE...` reads COUNT blocks of BYTES from
 * each drive, DEPTH at a time, and prints GB/s and the average time of a read in us. All simulated. Valid C99 and C++. */
#include "pcielab.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- The hook: what a simulator calls where it copied data at once. ---- */

static pcielab_machine *machine;

static void check(int code, const char *what) {
    if (code >= 0) return;
    fprintf(stderr, "%s: %s\n", what, pcielab_code_text(code));
    exit(1);
}

static void hook_open(const char *path) {
    static char text[1 << 20], wrong[512];
    FILE *file = fopen(path, "rb");
    if (!file) perror(path), exit(1);
    size_t length = fread(text, 1, sizeof text, file);
    fclose(file);
    check(pcielab_machine_open(text, length, NULL, &machine, wrong, sizeof wrong), wrong);
}

static uint32_t hook_node(const char *name) {
    char wrong[512] = "";
    uint32_t node = 0;
    check(pcielab_machine_node(machine, name, &node, wrong, sizeof wrong), wrong);
    return node;
}

/* The first bus address of a host's memory or a device's BAR. */
static uint64_t hook_memory(uint32_t node) {
    pcielab_node_limits limits;
    check(pcielab_machine_limits(machine, node, &limits), "limits");
    return limits.address;
}

/* A device writes `bytes` to an address from `at` on; `hook_wait` tells when they are there. */
static uint64_t hook_write(uint32_t device, uint64_t address, uint64_t bytes, uint64_t at) {
    uint64_t number = 0;
    check(pcielab_machine_transfer(machine, device, PCIELAB_KIND_WRITE, address, bytes, at, &number), "write");
    return number;
}

/* Waits until a write is done, at most until a time; returns whether one is, and its number. */
static int hook_wait(uint64_t until, uint64_t *number) {
    pcielab_machine_event event;
    int code;
    while ((code = pcielab_machine_wait(machine, until, &event)) == PCIELAB_CODE_DONE)
        if (event.kind == PCIELAB_MACHINE_EVENT_KIND_DONE) return *number = event.number, 1;
    check(code, "wait");
    return 0;
}

/* ---- The stub of the simulator: drives whose flash has a latency and a rate. ---- */

#define MOST_DRIVES 16
#define MOST_WRITES (1 << 20)
#define FLASH_PS 60000000ULL /* Latency of a read of flash. */
#define FLASH_FS 142857ULL   /* Time of a byte: 7 GB/s. */
#define BLOCK_PS 82000ULL    /* Time of a block beside its bytes. */
#define ENTRY_BYTES 16       /* Of the completion queue. */

static uint32_t drives[MOST_DRIVES];
static uint64_t flash_free[MOST_DRIVES], left[MOST_DRIVES], block, target, queue;
static struct {
    int drive, is_entry;
    uint64_t began;
} writes[MOST_WRITES]; /* By the number of the write. */

/* Reads a block from flash; then its data cross the fabric, and the entry of the completion queue behind them. */
static void read_block(int drive, uint64_t now) {
    if (left[drive] == 0) return;
    left[drive]--;
    flash_free[drive] = (flash_free[drive] > now ? flash_free[drive] : now) + BLOCK_PS + block * FLASH_FS / 1000;
    uint64_t at = flash_free[drive] + FLASH_PS, data = hook_write(drives[drive], target, block, at);
    uint64_t entry = hook_write(drives[drive], queue, ENTRY_BYTES, at);
    if (entry >= MOST_WRITES) fprintf(stderr, "too many reads\n"), exit(1);
    writes[data].drive = drive;
    writes[data].began = now;
    writes[entry].is_entry = 1;
}

int main(int argc, char **argv) {
    uint64_t number, done = 0, first = 0, latency = 0;
    if (argc < 7 || argc > 6 + MOST_DRIVES) return fprintf(stderr, "usage: see the head of storage_hook.c\n"), 1;
    uint64_t depth = strtoull(argv[4], NULL, 10), count = strtoull(argv[5], NULL, 10);
    int drive_count = argc - 6;
    block = strtoull(argv[3], NULL, 10);
    hook_open(argv[1]);
    target = hook_memory(hook_node(argv[2]));
    queue = hook_memory(hook_node("host"));
    for (int drive = 0; drive < drive_count; drive++) {
        drives[drive] = hook_node(argv[6 + drive]);
        left[drive] = count;
        for (uint64_t begun = 0; begun < depth; begun++) read_block(drive, 0);
    }
    uint64_t all = count * (uint64_t)drive_count, begin = all / 4, end = 3 * all / 4;
    while (done < all && hook_wait(UINT64_MAX, &number)) {
        int drive = writes[number].drive;
        uint64_t now = pcielab_machine_now(machine), began = writes[number].began;
        if (writes[number].is_entry) continue;
        if (++done == begin) first = now;
        if (done > begin && done <= end) latency += now - began;
        if (done == end) {
            double each = (double)(end - begin);
            printf("%.4f %.3f\n", each * (double)block / (double)(now - first) * 1e3, (double)latency / each * 1e-6);
        }
        read_block(drive, now);
    }
    pcielab_machine_free(machine);
    return done < all;
}
