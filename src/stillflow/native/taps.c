/* Images resized as weighted sums along one dimension: src/stillflow/ops/image/taps.py. */
#include "pixels.h"

enum {
    CHUNK = 1 << 13, /* so many numbers one thread makes at a time */
    FEW = 1 << 19    /* so many take less time than waking up another thread */
};

/* Which inputs an output takes and how much of each, [taps, outputs]: class Taps in taps.py. */
typedef struct {
    const int64_t *places;
    const float *shares;
    int64_t taps, outputs;
} Taps;

typedef struct {
    const void *values; /* [outer, size, inner] */
    int64_t size, inner;
    const Taps *taps;
    float *results;   /* [outer, outputs, inner] */
    int64_t count;    /* outer * outputs */
    int64_t together; /* so many of them one thread makes at a time */
} Summing;

/* The sums for one output. */
INLINE void sum_numbers(const Taps *taps, int64_t output, const void *values, float *restrict out,
                        int64_t inner, int bytes) {
    for (int64_t tap = 0; tap < taps->taps; tap++) {
        int64_t from = taps->places[tap * taps->outputs + output] * inner;
        float share = taps->shares[tap * taps->outputs + output];
        for (int64_t c = 0; c < inner; c++) {
            float part = number(values, from + c, bytes) * share;
            out[c] = tap ? out[c] + part : part;
        }
    }
}

/* The same for 3 or 4 numbers: 4 are read and written. Returns 0 if there is one input too few. */
INLINE int sum_pixel(const Taps *taps, int64_t output, const void *values, int64_t size, float *out,
                     int64_t inner, int bytes) {
    Pixel sum = {0};
    for (int64_t tap = 0; tap < taps->taps; tap++) {
        int64_t from = taps->places[tap * taps->outputs + output];
        if (from >= size - 1) return 0;
        Pixel part = pixel(values, from * inner, bytes) * taps->shares[tap * taps->outputs + output];
        sum = tap ? sum + part : part;
    }
    memcpy(out, &sum, sizeof sum);
    return 1;
}

INLINE void sum_all(const Summing *all, int64_t chunk, int64_t inner, int bytes) {
    int64_t first = chunk * all->together, last = first + all->together;
    if (last > all->count) last = all->count;
    for (int64_t each = first; each < last; each++) {
        int64_t outer = each / all->taps->outputs, output = each % all->taps->outputs;
        int64_t start = outer * all->size * inner * (bytes ? 1 : (int64_t)sizeof(float));
        const char *values = (const char *)all->values + start;
        float *out = all->results + each * inner;
        int wide = (inner == 3 || inner == 4) && each < last - 1;
        if (!wide || !sum_pixel(all->taps, output, values, all->size, out, inner, bytes))
            sum_numbers(all->taps, output, values, out, inner, bytes);
    }
}

INLINE void sum_some(const Summing *all, int64_t chunk, int bytes) {
    if (all->inner == 1)
        sum_all(all, chunk, 1, bytes);
    else if (all->inner == 3)
        sum_all(all, chunk, 3, bytes);
    else if (all->inner == 4)
        sum_all(all, chunk, 4, bytes);
    else
        sum_all(all, chunk, all->inner, bytes);
}

FOR_EACH_PROCESSOR static void sum_bytes(void *data, int64_t chunk) { sum_some(data, chunk, 1); }

FOR_EACH_PROCESSOR static void sum_floats(void *data, int64_t chunk) { sum_some(data, chunk, 0); }

/* Makes [outer, taps->outputs, inner] of [outer, size, inner]; none of these is 0.

   bytes: whether the numbers are uint8, else float32. */
PUBLIC void weighted_sums(const void *values, int64_t bytes, int64_t outer, int64_t size,
                          int64_t inner, const Taps *taps, float *results, int64_t threads) {
    Summing all = {values, size, inner, taps, results, outer * taps->outputs, 1 + CHUNK / inner};
    if (all.count * inner < FEW) threads = 1;
    in_parallel(bytes ? sum_bytes : sum_floats, &all,
                (all.count + all.together - 1) / all.together, threads);
}
