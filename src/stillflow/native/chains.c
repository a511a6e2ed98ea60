/* A walk along points: src/stillflow_contrib/ops/clustering.py. */
#include "philox.h"

FOR_EACH_PROCESSOR
static int64_t end_of_walk(uint64_t key, const float *distances, int64_t count) {
    Stream stream = {key, 0, 0};
    uint64_t places[BATCH];
    uint32_t words[PER_BLOCK][BATCH];
    int64_t at = 0, next = 1;
    float here = distances[0];
    for (uint64_t first = 0; next < count; first += BATCH) {
        for (int i = 0; i < BATCH; i++) places[i] = first + (uint64_t)i;
        fill_batch(&stream, places, words);
        for (int i = 0; i < BATCH * PER_BLOCK && next < count; i++, next++) {
            uint32_t bits = (words[i % PER_BLOCK][i / PER_BLOCK] & 0x7FFFFF) | 127u << 23;
            float part;
            memcpy(&part, &bits, sizeof part);
            /* Few steps: to guess that there is none is faster than to wait for the product. */
            if (__builtin_expect(distances[next] > (part - 1.0f) * here, 0)) {
                at = next;
                here = distances[next];
            }
        }
    }
    return at;
}

/* The point at which a walk along all of them ends, which begins at the first: it goes to the next
   one if that one's distance is larger than a random part of the distance here.

   key: of the stream, whose words are used one after the other. */
PUBLIC int64_t walk_chain(uint64_t key, const float *distances, int64_t count) {
    return end_of_walk(key, distances, count);
}
