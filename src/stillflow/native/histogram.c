/* Numbers counted into the buckets of a `HistogramProto`: src/stillflow/ops/summary/buckets.py. */
#include "native.h"

enum {
    LANES = 4,       /* as many counters per place: one just increased would have to wait */
    CHUNK = 1 << 16, /* numbers that one thread counts at a time */
    FEW = 1 << 14    /* so many take less time than waking up another thread */
};

/* Where numbers belong: class _Places in buckets.py, which says what a place is. */
typedef struct {
    const uint32_t *table; /* where the upper half of a number's bits leads */
    const double *limits;  /* of the buckets */
    int64_t places;
    int64_t minus_zero; /* the place of -0.0; the one before is of what is not finite, as the last */
} Places;

typedef struct {
    const float *values;
    int64_t size;
    const Places *places;
    int64_t *counts;
    double *sums;
} Histogram;

/* In float64, one number after the other, as TensorFlow adds: any other order rounds otherwise. */
static void add_up(const float *values, int64_t size, double *sums) {
    float least = values[0], largest = values[0];
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < size; i++) {
        float value = values[i];
        least = value < least ? value : least;
        largest = value > largest ? value : largest;
        sum += value;
        squares += (double)value * value;
    }
    sums[0] = least;
    sums[1] = largest;
    sums[2] = sum;
    sums[3] = squares;
}

static void count(const Histogram *all, int64_t first, int64_t last) {
    const uint32_t *table = all->places->table;
    uint32_t lanes[all->places->places][LANES];
    memset(lanes, 0, sizeof lanes);
    int64_t i = first;
    for (; i + LANES <= last; i += LANES) {
        uint32_t bits[LANES];
        memcpy(bits, all->values + i, sizeof bits);
        for (int lane = 0; lane < LANES; lane++)
            lanes[(table[bits[lane] >> 16] + bits[lane]) >> 16][lane]++;
    }
    for (; i < last; i++) {
        uint32_t bits;
        memcpy(&bits, all->values + i, sizeof bits);
        lanes[(table[bits >> 16] + bits) >> 16][0]++;
    }
    for (int64_t place = 0; place < all->places->places; place++) {
        int64_t found = 0;
        for (int lane = 0; lane < LANES; lane++) found += lanes[place][lane];
        if (found) __atomic_fetch_add(all->counts + place, found, __ATOMIC_RELAXED);
    }
}

static void measure(void *data, int64_t chunk) {
    const Histogram *all = data;
    int64_t first = (chunk - 1) * CHUNK, last = first + CHUNK;
    if (chunk == 0)
        add_up(all->values, all->size, all->sums);
    else
        count(all, first, last < all->size ? last : all->size);
}

static uint8_t *put_varint(uint8_t *out, uint64_t value) {
    for (; value >= 0x80; value >>= 7) *out++ = (uint8_t)value | 0x80;
    *out++ = (uint8_t)value;
    return out;
}

static uint8_t *put_double(uint8_t *out, double value) {
    memcpy(out, &value, sizeof value);
    return out + sizeof value;
}

/* The fields of limits and counts: of several empty buckets in a row only the last. */
static uint8_t *put_buckets(uint8_t *out, const Places *places, const int64_t *counts) {
    int64_t below = places->places - 1 - places->minus_zero; /* so many are below zero */
    int64_t buckets = places->places - 2, kept = 0;
    double limits[buckets], found[buckets + 1];
    for (int64_t i = 0; i < buckets; i++) {
        int64_t count = counts[i < below ? places->places - 1 - i : i - below];
        if (i == places->minus_zero) count += counts[i]; /* -0.0 is in no other bucket than 0.0 */
        found[i] = (double)count;
    }
    found[buckets] = 1; /* so that the last bucket is kept */
    for (int64_t i = 0; i < buckets; i++)
        if (found[i] > 0 || found[i + 1] > 0) {
            limits[kept] = places->limits[i];
            found[kept++] = found[i];
        }
    const double *columns[] = {limits, found};
    for (int column = 0; column < 2; column++) {
        *out++ = (uint8_t)((6 + column) << 3 | 2);
        out = put_varint(out, (uint64_t)kept * sizeof(double));
        memcpy(out, columns[column], (size_t)kept * sizeof(double));
        out += kept * sizeof(double);
    }
    return out;
}

/* Counts float32, adds them up and writes what is found as a serialized message.

   size: how many numbers; at least one.
   out: has room for 64 bytes and 16 per place.
   Returns how many bytes were written; 0 if a number is not finite. */
PUBLIC int64_t histogram_float32(const float *values, int64_t size, const Places *places,
                                 uint8_t *out, int64_t threads) {
    int64_t counts[places->places];
    memset(counts, 0, sizeof counts);
    double sums[4];
    Histogram all = {values, size, places, counts, sums};
    in_parallel(measure, &all, 1 + (size + CHUNK - 1) / CHUNK, size < FEW ? 1 : threads);
    if (counts[places->minus_zero - 1] || counts[places->places - 1]) return 0;
    const double numbers[] = {sums[0], sums[1], (double)size, sums[2], sums[3]};
    uint8_t *end = out;
    for (int i = 0; i < 5; i++)
        if (numbers[i] != 0) {
            *end++ = (uint8_t)((i + 1) << 3 | 1);
            end = put_double(end, numbers[i]);
        }
    return put_buckets(end, places, counts) - out;
}
