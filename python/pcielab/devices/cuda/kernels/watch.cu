// Checks before the first measurement: the steps of both clocks, and that every read reaches the host.
#include "link.cuh"

// Writes `count` pairs of readings of both clocks.
extern "C" __global__ void __launch_bounds__(32) clocks(u64 count, u64 readings, u64 stop) {
#pragma unroll 1
    for (u64 n = 0; n < count; n++) {
        if (n % 16 == 0 && is_stopped(stop)) break;
        const u64 now_ns = nanoseconds(), now_cycles = cycles();
        ((u64 *)readings)[2 * n] = now_ns;
        ((u64 *)readings)[2 * n + 1] = now_cycles;
    }
}

// Reads one word of the host, which the host increments meanwhile, until it is `last`, and counts the changes. Ends after
// `limit_ns` at the latest.
extern "C" __global__ void __launch_bounds__(32) watch(u64 word, u64 last, u64 limit_ns, u64 report, u64 stop) {
#if BULK
    __shared__ __align__(128) u32 into[4];
    __shared__ __align__(8) u64 barrier;
    if (threadIdx.x == 0) bulk_ready(&barrier);
    __syncwarp();
    u32 phase = 0;
#endif
    const u64 started = nanoseconds();
    u64 changes = 0, reads = 0;
    u32 before = 0;
#pragma unroll 1
    while (nanoseconds() - started < limit_ns && !is_stopped(stop)) {
#if BULK
        bulk_read(into, word, 16, &barrier, phase, stop);
        phase ^= 1;
        const u32 now = into[0];
        __syncwarp();
#else
        Piece<1> piece;
        load(piece, word);
        const u32 now = piece.word[0];
#endif
        changes += now != before;
        reads++;
        before = now;
        if (now == (u32)last) break;
    }
    if (threadIdx.x == 0) {
        ((u64 *)report)[DONE] = reads;
        ((u64 *)report)[CHANGES] = changes;
    }
}
