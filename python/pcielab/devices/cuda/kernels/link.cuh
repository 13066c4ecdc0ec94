// Accesses to host memory that cross the link, and code that all kernels share: clocks, stop flag, report and pattern.
//
// Accesses are inline PTX of system scope, which the compiler does not cache. watch.cu checks at run time that they
// reach the link.
//
// READ_FORM is the instruction that reads: 0 ld.relaxed.sys, 1 ld.mmio.relaxed.sys, 2 ld.volatile, 3 ld.cv,
// 4 cp.async.bulk into shared memory (sm_90 and later).
#pragma once

typedef unsigned int u32;
typedef unsigned long long u64;

#ifndef READ_FORM
#define READ_FORM 0
#endif
#define BULK (READ_FORM == 4)
#if READ_FORM == 1
#define LOAD "ld.mmio.relaxed.sys.global"
#define STORE "st.mmio.relaxed.sys.global"
#elif READ_FORM == 2
#define LOAD "ld.volatile.global"
#define STORE "st.volatile.global"
#elif READ_FORM == 3
#define LOAD "ld.global.cv"
#define STORE "st.global.wt"
#else
#define LOAD "ld.relaxed.sys.global"
#define STORE "st.relaxed.sys.global"
#endif

#define LANES 32u
#define TRANSFER_BYTES_MOST 4096u
// Word i of the pattern is WORD_STEP * i + WORD_FIRST; a test of writes adds its mark.
#define WORD_STEP 2654435761u
#define WORD_FIRST 305419896u

// The report of a launch, one u64 each.
enum Report { DONE, FIRST_NS, LAST_NS, FIRST_CYCLE, LAST_CYCLE, SUM, CHANGES, WRONG };

__device__ __forceinline__ u32 word_at(u64 index, u32 mark) { return WORD_STEP * (u32)index + WORD_FIRST + mark; }

__device__ __forceinline__ u64 cycles() {
    u64 now;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(now) :: "memory");
    return now;
}

__device__ __forceinline__ u64 nanoseconds() {
    u64 now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now) :: "memory");
    return now;
}

// The flag lies in the GPU's own memory, so that polling it does not load the link.
__device__ __forceinline__ bool is_stopped(u64 stop) {
    u32 flag;
    asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(flag) : "l"(stop) : "memory");
    return flag != 0;
}

// Waits for a value: later instructions are not issued before. The store runs only if value and `never` are equal, and
// then changes a word that nobody reads.
__device__ __forceinline__ void await(u32 value, u32 never, u64 unread) {
    asm volatile(
        "{\n\t.reg .pred there;\n\tsetp.eq.u32 there, %0, %1;\n\t@there st.volatile.global.u32 [%2], %0;\n\t}"
        :: "r"(value), "r"(never), "l"(unread) : "memory");
}

// The part of a transfer that one lane moves with one instruction.
template <int WORDS> struct Piece { u32 word[WORDS]; };

__device__ __forceinline__ void load(Piece<1> &piece, u64 address) {
    asm volatile(LOAD ".u32 %0, [%1];" : "=r"(piece.word[0]) : "l"(address) : "memory");
}

__device__ __forceinline__ void load(Piece<2> &piece, u64 address) {
#if READ_FORM == 1
    u64 both;
    asm volatile(LOAD ".u64 %0, [%1];" : "=l"(both) : "l"(address) : "memory");
    piece.word[0] = (u32)both;
    piece.word[1] = (u32)(both >> 32);
#else
    asm volatile(LOAD ".v2.u32 {%0, %1}, [%2];"
                 : "=r"(piece.word[0]), "=r"(piece.word[1]) : "l"(address) : "memory");
#endif
}

__device__ __forceinline__ void store(const Piece<1> &piece, u64 address) {
    asm volatile(STORE ".u32 [%0], %1;" :: "l"(address), "r"(piece.word[0]) : "memory");
}

__device__ __forceinline__ void store(const Piece<2> &piece, u64 address) {
#if READ_FORM == 1
    const u64 both = (u64)piece.word[1] << 32 | piece.word[0];
    asm volatile(STORE ".u64 [%0], %1;" :: "l"(address), "l"(both) : "memory");
#else
    asm volatile(STORE ".v2.u32 [%0], {%1, %2};"
                 :: "l"(address), "r"(piece.word[0]), "r"(piece.word[1]) : "memory");
#endif
}

// ld.mmio and st.mmio have no vectors of more than 8 bytes.
#if READ_FORM != 1
__device__ __forceinline__ void load(Piece<4> &piece, u64 address) {
    asm volatile(LOAD ".v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(piece.word[0]), "=r"(piece.word[1]), "=r"(piece.word[2]), "=r"(piece.word[3])
                 : "l"(address) : "memory");
}

__device__ __forceinline__ void store(const Piece<4> &piece, u64 address) {
    asm volatile(STORE ".v4.u32 [%0], {%1, %2, %3, %4};"
                 :: "l"(address), "r"(piece.word[0]), "r"(piece.word[1]), "r"(piece.word[2]), "r"(piece.word[3])
                 : "memory");
}
#endif

// Adds to a word, or two as one number, of the host in one atomic access; the sum of the words before.
template <int WORDS> __device__ __forceinline__ u32 fetch_add(u64 address, u64 addend) {
    if constexpr (WORDS == 1) {
        u32 before;
        asm volatile("atom.relaxed.sys.global.add.u32 %0, [%1], %2;"
                     : "=r"(before) : "l"(address), "r"((u32)addend) : "memory");
        return before;
    } else {
        u64 before;
        asm volatile("atom.relaxed.sys.global.add.u64 %0, [%1], %2;"
                     : "=l"(before) : "l"(address), "l"(addend) : "memory");
        return (u32)before + (u32)(before >> 32);
    }
}

// Makes all stores of a lane visible to the host.
__device__ __forceinline__ void fence() { asm volatile("fence.sc.sys;" ::: "memory"); }

#if BULK
// One instruction copies a multiple of 16 bytes into shared memory; the words are summed there after a wait.
__device__ __forceinline__ u32 shared_address(const void *pointer) { return (u32)__cvta_generic_to_shared(pointer); }

__device__ __forceinline__ void bulk_ready(u64 *barrier) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(shared_address(barrier)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void bulk_read(void *into, u64 address, u32 bytes, u64 *barrier, u32 phase, u64 stop) {
    const u32 at = shared_address(barrier);
    // Every lane has used the data of the read before.
    __syncwarp();
    if (threadIdx.x % LANES == 0) {
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(at), "r"(bytes) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                     :: "r"(shared_address(into)), "l"(address), "r"(bytes), "r"(at) : "memory");
    }
    u32 done = 0;
    // The instruction waits for a limited time, so that the loop can poll the stop flag.
    while (!done) {
        asm volatile(
            "{\n\t.reg .pred done;\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\n\t"
            "selp.u32 %0, 1, 0, done;\n\t}"
            : "=r"(done) : "r"(at), "r"(phase) : "memory");
        if (!done && is_stopped(stop)) break;
    }
}
#endif
