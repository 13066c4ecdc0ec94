// Bandwidth: every warp moves one transfer after the other, with one warp for each transfer in flight. A block is one warp.
//
// A warp waits for each read; it waits for all of its writes at its end. Warps take two transfers at a time, so that
// each alternates between reads and writes in a test of both.
#include "transfer.cuh"

struct BandwidthArguments {
    u64 base, listed, count, pieces, writes, turn, mark, report, stop;
};

// Which transfers are writes.
enum Writes { NONE, ALL, BY_TURNS };

template <int WORDS> __device__ void bandwidth(const BandwidthArguments &a) {
    const u32 lane = threadIdx.x;
#if BULK
    __shared__ __align__(128) u32 into[TRANSFER_BYTES_MOST / 4];
    __shared__ __align__(8) u64 barrier;
    if (lane == 0) bulk_ready(&barrier);
    __syncwarp();
    u32 phase = 0;
#endif
    u64 *report = (u64 *)a.report;
    u32 sum = 0, step = 0;
    u64 done = 0;
    const u64 first_ns = nanoseconds();
#pragma unroll 1
    for (u64 n = 2 * (u64)blockIdx.x; n < a.count; n += (n & 1) ? 2 * (u64)gridDim.x - 1 : 1) {
        if (step++ % 16 == 0 && is_stopped(a.stop)) break;
        const u64 word = ((const u32 *)a.listed)[n];
        const Transfer transfer = {a.base + word * 4, word, (u32)a.pieces};
        if (a.writes == ALL || (a.writes == BY_TURNS && ((a.turn ^ n) & 1))) {
            write<WORDS>(transfer, lane, (u32)a.mark);
        } else {
#if BULK
            sum += read_bulk<WORDS>(transfer, lane, into, &barrier, phase, a.stop);
            phase ^= 1;
#else
            sum += read<WORDS, LOADS_MOST<WORDS>>(transfer, lane);
#endif
        }
        done++;
    }
    if (a.writes != NONE) fence();
    const u64 last_ns = nanoseconds();
    atomicAdd(&report[SUM], (u64)sum);
    if (lane == 0 && done) {
        atomicAdd(&report[DONE], done);
        atomicMin(&report[FIRST_NS], first_ns);
        atomicMax(&report[LAST_NS], last_ns);
    }
}

#define BANDWIDTH(NAME, WORDS)                                                                                     \
    extern "C" __global__ void __launch_bounds__(32) NAME(                                                         \
        u64 base, u64 listed, u64 count, u64 pieces, u64 writes, u64 turn, u64 mark, u64 report, u64 stop) {         \
        bandwidth<WORDS>({base, listed, count, pieces, writes, turn, mark, report, stop});                           \
    }

BANDWIDTH(bandwidth_4, 1)
BANDWIDTH(bandwidth_8, 2)
#if READ_FORM != 1
BANDWIDTH(bandwidth_16, 4)
#endif
