// Pointer chase in plain C: the latency of p = *p over a window whose lines are linked in a random cycle.
//
// chase WINDOW_BYTES LOADS CORE PAGE_BYTES prints the ns of a load, averaged over 4096 of them, a line each.

#define _GNU_SOURCE
#include <linux/mman.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define LINE_BYTES 64
#define SLICE 4096
#define FOUR p = *(void **)p; p = *(void **)p; p = *(void **)p; p = *(void **)p;

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static uint64_t random_below(uint64_t bound) {
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % bound;
}

int main(int count, char **arguments) {
    if (count != 5) {
        fprintf(stderr, "usage: chase WINDOW_BYTES LOADS CORE PAGE_BYTES\n");
        return 2;
    }
    size_t window = strtoull(arguments[1], NULL, 10), loads = strtoull(arguments[2], NULL, 10);
    size_t page = strtoull(arguments[4], NULL, 10), lines = window / LINE_BYTES;
    cpu_set_t core;
    CPU_ZERO(&core);
    CPU_SET(atoi(arguments[3]), &core);
    if (sched_setaffinity(0, sizeof core, &core) != 0) {
        perror("core");
        return 1;
    }
    int huge = page > 4096 ? MAP_HUGETLB | MAP_HUGE_2MB : 0;
    size_t length = (window + page - 1) / page * page;
    char *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | huge, -1, 0);
    size_t *order = malloc(lines * sizeof *order);
    if (memory == MAP_FAILED || order == NULL) {
        perror("memory");
        return 1;
    }
    if (!huge)
        madvise(memory, length, MADV_NOHUGEPAGE);
    for (size_t line = 0; line < lines; line++)
        order[line] = line;
    for (size_t last = lines - 1; last > 0; last--) {
        size_t other = random_below(last + 1), moved = order[last];
        order[last] = order[other];
        order[other] = moved;
    }
    for (size_t line = 0; line < lines; line++)
        *(void **)(memory + order[line] * LINE_BYTES) = memory + order[(line + 1) % lines] * LINE_BYTES;
    void *p = memory + order[0] * LINE_BYTES;
    free(order);
    for (size_t done = 0; done + SLICE <= loads; done += SLICE) {
        double started = now_ns();
        for (int repeat = 0; repeat < SLICE / 16; repeat++) {
            FOUR FOUR FOUR FOUR
        }
        __asm__ volatile("" : "+r"(p) : : "memory");
        printf("%.4f\n", (now_ns() - started) / SLICE);
    }
    return 0;
}
