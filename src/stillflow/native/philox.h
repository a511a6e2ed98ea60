/* Blocks of a Philox stream, which src/stillflow/ops/random/philox.py describes. */
#ifndef STILLFLOW_PHILOX_H
#define STILLFLOW_PHILOX_H

#include "native.h"

#define MULTIPLIER_0 0xD2511F53u
#define MULTIPLIER_1 0xCD9E8D57u
#define KEY_STEP_0 0x9E3779B9u
#define KEY_STEP_1 0xBB67AE85u

enum { PER_BLOCK = 4, ROUNDS = 10, BATCH = 64, RESERVED = 256 };

typedef struct {
    uint64_t key, low, high; /* the counter of block 0 is high, low */
} Stream;

/* The words of the blocks at some places of the stream. */
static inline void fill_batch(const Stream *stream, const uint64_t places[BATCH],
                              uint32_t words[PER_BLOCK][BATCH]) {
    uint32_t *c0 = words[0], *c1 = words[1], *c2 = words[2], *c3 = words[3];
    for (int i = 0; i < BATCH; i++) {
        uint64_t low = stream->low + places[i], high = stream->high + (low < places[i]);
        c0[i] = (uint32_t)low, c1[i] = (uint32_t)(low >> 32);
        c2[i] = (uint32_t)high, c3[i] = (uint32_t)(high >> 32);
    }
    uint32_t k0 = (uint32_t)stream->key, k1 = (uint32_t)(stream->key >> 32);
    for (int round = 0; round < ROUNDS; round++, k0 += KEY_STEP_0, k1 += KEY_STEP_1) {
        for (int i = 0; i < BATCH; i++) {
            uint64_t p0 = (uint64_t)c0[i] * MULTIPLIER_0, p1 = (uint64_t)c2[i] * MULTIPLIER_1;
            c0[i] = (uint32_t)(p1 >> 32) ^ c1[i] ^ k0, c1[i] = (uint32_t)p1;
            c2[i] = (uint32_t)(p0 >> 32) ^ c3[i] ^ k1, c3[i] = (uint32_t)p0;
        }
    }
}

/* The words of one block. */
static inline void fill_block(const Stream *stream, uint64_t place, uint32_t words[PER_BLOCK]) {
    uint64_t low = stream->low + place, high = stream->high + (low < place);
    uint32_t c0 = (uint32_t)low, c1 = (uint32_t)(low >> 32);
    uint32_t c2 = (uint32_t)high, c3 = (uint32_t)(high >> 32);
    uint32_t k0 = (uint32_t)stream->key, k1 = (uint32_t)(stream->key >> 32);
    for (int round = 0; round < ROUNDS; round++, k0 += KEY_STEP_0, k1 += KEY_STEP_1) {
        uint64_t p0 = (uint64_t)c0 * MULTIPLIER_0, p1 = (uint64_t)c2 * MULTIPLIER_1;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1, c3 = (uint32_t)p0;
    }
    words[0] = c0, words[1] = c1, words[2] = c2, words[3] = c3;
}

/* In [0, 1), of two words. */
static inline double unit_double(uint32_t upper, uint32_t lower) {
    uint64_t bits = ((uint64_t)upper << 32 | lower) & (((uint64_t)1 << 52) - 1);
    double value;
    bits |= (uint64_t)1023 << 52;
    memcpy(&value, &bits, sizeof value);
    return value - 1.0;
}

#endif
