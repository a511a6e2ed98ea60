/* The swaps of Fisher and Yates: src/stillflow/ops/random/native_kernels.py. */
#include "philox.h"

enum { RUN = PER_BLOCK * BATCH }; /* swaps whose places are found before the first of them */

/* Where the elements from `first` on, of `size`, are to go. */
static void find_targets(const Stream *stream, int64_t first, int64_t size, int64_t targets[RUN]) {
    uint32_t words[PER_BLOCK][BATCH], left = (uint32_t)(size - first);
    uint64_t places[BATCH];
    for (int i = 0; i < BATCH; i++) places[i] = (uint64_t)(first / PER_BLOCK + i);
    fill_batch(stream, places, words);
    int count = size - 1 - first < RUN ? (int)(size - 1 - first) : RUN;
    for (int i = 0; i < count; i++)
        targets[i] = first + i + words[i % PER_BLOCK][i / PER_BLOCK] % (left - (uint32_t)i);
}

#define SHUFFLE(TYPE)                                                                              \
    static void shuffle_##TYPE(const Stream *stream, int64_t size, TYPE *elements) {               \
        int64_t targets[RUN];                                                                      \
        for (int64_t first = 0; first < size - 1; first += RUN) {                                  \
            int64_t count = size - 1 - first < RUN ? size - 1 - first : RUN;                       \
            find_targets(stream, first, size, targets);                                            \
            for (int64_t i = 0; i < count; i++) __builtin_prefetch(elements + targets[i], 1);      \
            for (int64_t i = 0; i < count; i++) {                                                  \
                TYPE moved = elements[first + i];                                                  \
                elements[first + i] = elements[targets[i]];                                        \
                elements[targets[i]] = moved;                                                      \
            }                                                                                      \
        }                                                                                          \
    }

SHUFFLE(uint8_t)
SHUFFLE(uint16_t)
SHUFFLE(uint32_t)
SHUFFLE(uint64_t)

/* Shuffles elements, 2 to 2**31 - 1 of 1, 2, 4 or 8 bytes, by words from a position of a stream. */
PUBLIC void shuffle_elements(int64_t key, int64_t low, int64_t high, int64_t size, int64_t width,
                             void *elements) {
    Stream stream = {(uint64_t)key, (uint64_t)low, (uint64_t)high};
    switch (width) {
    case 1: shuffle_uint8_t(&stream, size, elements); break;
    case 2: shuffle_uint16_t(&stream, size, elements); break;
    case 4: shuffle_uint32_t(&stream, size, elements); break;
    default: shuffle_uint64_t(&stream, size, elements);
    }
}
