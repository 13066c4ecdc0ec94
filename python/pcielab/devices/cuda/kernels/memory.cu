// Kernels that fill memory with the pattern, in order or line by line, and compare memory with it.
#include "link.cuh"

#define LINE_WORDS 16u

// Fills words `first` to `first + count` with the pattern and a mark, by plain stores of system scope.
extern "C" __global__ void fill(u64 base, u64 first, u64 count, u64 mark, u64 stop) {
    const u64 threads = (u64)gridDim.x * blockDim.x;
    u32 step = 0;
#pragma unroll 1
    for (u64 n = (u64)blockIdx.x * blockDim.x + threadIdx.x; n < count; n += threads) {
        if (step++ % 64 == 0 && is_stopped(stop)) break;
        const Piece<1> piece = {{word_at(first + n, (u32)mark)}};
        store(piece, base + (first + n) * 4);
    }
    fence();
}

// Writes the pattern to `count` random lines of 64 bytes among `lines`: half a warp writes one line.
extern "C" __global__ void scatter(u64 base, u64 lines, u64 seed, u64 count, u64 stop) {
    const u64 threads = (u64)gridDim.x * blockDim.x / LINE_WORDS;
    const u32 word = threadIdx.x % LINE_WORDS;
    u32 step = 0;
#pragma unroll 1
    for (u64 n = ((u64)blockIdx.x * blockDim.x + threadIdx.x) / LINE_WORDS; n < count; n += threads) {
        if (step++ % 64 == 0 && is_stopped(stop)) break;
        // SplitMix64.
        u64 drawn = (seed + n + 1) * 0x9e3779b97f4a7c15ull;
        drawn = (drawn ^ drawn >> 30) * 0xbf58476d1ce4e5b9ull;
        drawn = (drawn ^ drawn >> 27) * 0x94d049bb133111ebull;
        const u64 at = __umul64hi(drawn ^ drawn >> 31, lines) * LINE_WORDS + word;
        const Piece<1> piece = {{word_at(at, 0)}};
        store(piece, base + at * 4);
    }
    fence();
}

// Counts words of transfers that differ, in the bits of `mask`, from the pattern with `mark`.
extern "C" __global__ void compare(
    u64 base, u64 listed, u64 count, u64 words, u64 mark, u64 mask, u64 report, u64 stop) {
    u64 wrong = 0;
#pragma unroll 1
    for (u64 n = blockIdx.x; n < count; n += gridDim.x) {
        if (is_stopped(stop)) break;
        const u64 first = ((const u32 *)listed)[n];
        for (u64 word = first + threadIdx.x; word < first + words; word += blockDim.x)
            wrong += ((((const volatile u32 *)base)[word] ^ word_at(word, (u32)mark)) & (u32)mask) != 0;
        if (threadIdx.x == 0) atomicAdd(&((u64 *)report)[DONE], 1ull);
    }
    atomicAdd(&((u64 *)report)[WRONG], wrong);
}
