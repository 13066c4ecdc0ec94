// One transfer by one warp, in adjacent pieces: all loads are issued before the first wait.
#pragma once
#include "link.cuh"

struct Transfer {
    u64 address;   // of its first byte, as the GPU sees it
    u64 word;      // index of its first word in the buffer
    u32 pieces;    // number of pieces
};

// Loads of a lane for the longest transfer.
template <int WORDS> constexpr int LOADS_MOST = TRANSFER_BYTES_MOST / (LANES * WORDS * 4);

// Sum of the words that a lane reads with LOADS loads, which must be enough for the transfer: each takes its instructions
// even where a lane has no piece for it.
template <int WORDS, int LOADS> __device__ __forceinline__ u32 read(const Transfer &transfer, u32 lane) {
    Piece<WORDS> piece[LOADS];
#pragma unroll
    for (u32 each = 0; each < LOADS; each++) {
        const u32 at = each * LANES + lane;
        if (at < transfer.pieces) load(piece[each], transfer.address + (u64)at * WORDS * 4);
        else for (int word = 0; word < WORDS; word++) piece[each].word[word] = 0;
    }
    u32 sum = 0;
#pragma unroll
    for (u32 each = 0; each < LOADS; each++)
        for (int word = 0; word < WORDS; word++) sum += piece[each].word[word];
    return sum;
}

template <int WORDS> __device__ __forceinline__ void write(const Transfer &transfer, u32 lane, u32 mark) {
#pragma unroll 1
    for (u32 at = lane; at < transfer.pieces; at += LANES) {
        Piece<WORDS> piece;
#pragma unroll
        for (int word = 0; word < WORDS; word++) piece.word[word] = word_at(transfer.word + at * WORDS + word, mark);
        store(piece, transfer.address + (u64)at * WORDS * 4);
    }
}

#if BULK
template <int WORDS> __device__ __forceinline__ u32 read_bulk(
    const Transfer &transfer, u32 lane, u32 *into, u64 *barrier, u32 phase, u64 stop) {
    const u32 words = transfer.pieces * WORDS;
    bulk_read(into, transfer.address, words * 4, barrier, phase, stop);
    u32 sum = 0;
    for (u32 word = lane; word < words; word += LANES) sum += into[word];
    return sum;
}
#endif
