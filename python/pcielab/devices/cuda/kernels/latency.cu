// Latencies: one warp makes one transfer at a time and times each in cycles of its processor.
//
// A single lane moves 16 bytes or less. The address of a transfer depends on the data of the one before, through a mask
// of zeros that the compiler does not know. There is a kernel for each number of loads that a lane may need, so that
// nothing stands between the readings of the clock that belongs to a longer transfer.
#include "transfer.cuh"

struct LatencyArguments {
    u64 base, listed, count, pieces, mark, zeros, ticks, report, stop;
};

// What is timed.
enum Timed { READ, WRITE_READ, ATOMIC };

template <int WORDS, int LOADS, Timed TIMED> __device__ void latency(const LatencyArguments &a) {
    const u32 lane = threadIdx.x;
#if BULK
    __shared__ __align__(128) u32 into[TRANSFER_BYTES_MOST / 4];
    __shared__ __align__(8) u64 barrier;
    if (lane == 0) bulk_ready(&barrier);
    __syncwarp();
    u32 phase = 0;
#endif
    u64 *report = (u64 *)a.report;
    const u32 never = (u32)a.zeros + 0x7fffffffu;
    u32 carried = 0, sum = 0;
    u64 done = 0;
    const u64 first_ns = nanoseconds(), first_cycle = cycles();
#pragma unroll 1
    for (u64 n = 0; n < a.count; n++) {
        if (n % 16 == 0 && is_stopped(a.stop)) break;
        const u64 word = ((const u32 *)a.listed)[n] + (carried & (u32)a.zeros);
        const Transfer transfer = {a.base + word * 4, word, (u32)a.pieces};
        await((u32)word, never, a.report + 8 * WRONG);
        const u64 begin = cycles();
        if (TIMED == WRITE_READ) {
            write<WORDS>(transfer, lane, (u32)a.mark);
            fence();
        }
        u32 read_sum;
        if constexpr (TIMED == ATOMIC) read_sum = lane < transfer.pieces ? fetch_add<WORDS>(transfer.address, a.zeros) : 0;
#if BULK
        else read_sum = read_bulk<WORDS>(transfer, lane, into, &barrier, phase, a.stop);
        phase ^= TIMED != ATOMIC;
#else
        else read_sum = read<WORDS, LOADS>(transfer, lane);
#endif
        await(read_sum, never, a.report + 8 * WRONG);
        const u64 end = cycles();
        if (lane == 0) ((u32 *)a.ticks)[n] = (u32)(end - begin);
        carried = read_sum;
        sum += read_sum;
        done++;
    }
    const u64 last_cycle = cycles(), last_ns = nanoseconds();
    atomicAdd(&report[SUM], (u64)sum);
    if (lane == 0) {
        report[DONE] = done;
        report[FIRST_NS] = first_ns;
        report[LAST_NS] = last_ns;
        report[FIRST_CYCLE] = first_cycle;
        report[LAST_CYCLE] = last_cycle;
    }
}

#define LATENCY(NAME, WORDS, LOADS, TIMED)                                                                         \
    extern "C" __global__ void __launch_bounds__(32) NAME##_##LOADS(                                               \
        u64 base, u64 listed, u64 count, u64 pieces, u64 mark, u64 zeros, u64 ticks, u64 report, u64 stop) {         \
        latency<WORDS, LOADS, TIMED>({base, listed, count, pieces, mark, zeros, ticks, report, stop});               \
    }
#define BOTH(PIECE, WORDS, LOADS)                                                                                  \
    LATENCY(latency_read_##PIECE, WORDS, LOADS, READ)                                                              \
    LATENCY(latency_write_read_##PIECE, WORDS, LOADS, WRITE_READ)

LATENCY(latency_atomic_4, 1, 1, ATOMIC)
LATENCY(latency_atomic_8, 2, 1, ATOMIC)
BOTH(4, 1, 1)
BOTH(8, 2, 1)
#if READ_FORM != 1
BOTH(16, 4, 1)
#endif
// A bulk copy is one instruction, whatever its size.
#if !BULK
BOTH(4, 1, 2)
BOTH(4, 1, 4)
BOTH(4, 1, 8)
BOTH(4, 1, 16)
BOTH(4, 1, 32)
BOTH(8, 2, 2)
BOTH(8, 2, 4)
BOTH(8, 2, 8)
BOTH(8, 2, 16)
#if READ_FORM != 1
BOTH(16, 4, 2)
BOTH(16, 4, 4)
BOTH(16, 4, 8)
#endif
#endif
