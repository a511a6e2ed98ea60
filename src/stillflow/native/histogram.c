/* Numbers counted into the buckets of a `HistogramProto`: src/stillflow/ops/summary/buckets.py. */
#include "native.h"

#include <stdlib.h>

enum {
    LANES = 4,       /* rows of counters */
    MANY = 1 << 10,  /* numbers that are worth more than one row */
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
    double sums[4]; /* least, largest, sum, sum of squares */
    uint8_t *out;
    int64_t written;
} Histogram;

/* Sums, or what is counted from `first` on. */
typedef struct {
    Histogram *histogram;
    int64_t first; /* -1 for the sums */
} Task;

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

/* Numbers counted in several rows, so that one just increased does not have to wait. */
static void count_many(const Histogram *all, int64_t first, int64_t last) {
    const uint32_t *table = all->places->table;
    int64_t places = all->places->places, i = first;
    uint32_t lanes[LANES][places];
    memset(lanes, 0, sizeof lanes);
    for (; i + LANES <= last; i += LANES) {
        uint64_t pairs[LANES / 2];
        memcpy(pairs, all->values + i, sizeof pairs);
        for (int lane = 0; lane < LANES; lane++) {
            uint32_t bits = (uint32_t)(pairs[lane / 2] >> (lane % 2 * 32));
            lanes[lane][(table[bits >> 16] + bits) >> 16]++;
        }
    }
    for (; i < last; i++) {
        uint32_t bits;
        memcpy(&bits, all->values + i, sizeof bits);
        lanes[0][(table[bits >> 16] + bits) >> 16]++;
    }
    for (int64_t place = 0; place < places; place++) {
        int64_t found = 0;
        for (int lane = 0; lane < LANES; lane++) found += lanes[lane][place];
        if (found) __atomic_fetch_add(all->counts + place, found, __ATOMIC_RELAXED);
    }
}

static void count_few(const Histogram *all) {
    for (int64_t i = 0; i < all->size; i++) {
        uint32_t bits;
        memcpy(&bits, all->values + i, sizeof bits);
        all->counts[(all->places->table[bits >> 16] + bits) >> 16]++;
    }
}

static void measure(void *data, int64_t number) {
    const Task *task = (const Task *)data + number;
    Histogram *all = task->histogram;
    int64_t last = task->first + CHUNK;
    if (task->first < 0)
        add_up(all->values, all->size, all->sums);
    else if (all->size < MANY)
        count_few(all);
    else
        count_many(all, task->first, last < all->size ? last : all->size);
}

static uint8_t *put_double(uint8_t *out, double value) {
    memcpy(out, &value, sizeof value);
    return out + sizeof value;
}

/* Whether eight counters, one after the other in either direction, are all 0. */
static int are_empty(const int64_t *count, int64_t step) {
    int64_t any = 0;
    for (int i = 0; i < 8; i++) any |= count[i * step];
    return !any;
}

/* The fields of limits and counts: of several empty buckets in a row only the last. */
static uint8_t *put_buckets(uint8_t *out, const Places *places, int64_t *counts) {
    int64_t below = places->places - 1 - places->minus_zero; /* so many are below zero */
    int64_t buckets = places->places - 2, kept = 0, last = -1;
    double limits[buckets], found[buckets];
    counts[places->minus_zero - below] += counts[places->minus_zero]; /* -0.0 is 0.0 */
    for (int64_t i = 0; i < buckets; i++) {
        int64_t step = i < below ? -1 : 1, end = i < below ? below : buckets;
        const int64_t *count = counts + (i < below ? places->places - 1 - i : i - below);
        if (i + 8 < end && are_empty(count, step)) {
            i += 7;
            continue;
        }
        if (!*count && i + 1 < buckets) continue;
        if (*count && last + 1 < i) { /* the empty one before */
            limits[kept] = places->limits[i - 1];
            found[kept++] = 0;
        }
        limits[kept] = places->limits[i];
        found[kept++] = (double)*count;
        last = i;
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

static void put_histogram(void *data, int64_t number) {
    Histogram *all = (Histogram *)data + number;
    const Places *places = all->places;
    if (all->counts[places->minus_zero - 1] || all->counts[places->places - 1]) {
        all->written = 0;
        return;
    }
    const double *sums = all->sums;
    const double numbers[] = {sums[0], sums[1], (double)all->size, sums[2], sums[3]};
    uint8_t *end = all->out;
    for (int i = 0; i < 5; i++)
        if (numbers[i] != 0) {
            *end++ = (uint8_t)((i + 1) << 3 | 1);
            end = put_double(end, numbers[i]);
        }
    all->written = put_buckets(end, places, all->counts) - all->out;
}

/* Counts float32, adds them up and writes what is found as serialized messages.

   values, sizes: of `number` vectors, the longest first; none is empty.
   out: has room for 64 bytes and 16 per place, for each vector.
   written: receives how many bytes each message has; 0 if a number is not finite.
   Returns 0, or 1 if there is no memory. */
PUBLIC int64_t histograms_float32(const float *const *values, const int64_t *sizes, int64_t number,
                                  const Places *places, uint8_t *out, int64_t *written,
                                  int64_t threads) {
    int64_t tasks = number, total = 0, room = 64 + 16 * places->places;
    for (int64_t i = 0; i < number; i++) {
        tasks += (sizes[i] + CHUNK - 1) / CHUNK;
        total += sizes[i];
    }
    int64_t *counts = calloc((size_t)(number * places->places), sizeof *counts);
    Histogram *all = malloc((size_t)number * sizeof *all);
    Task *task = malloc((size_t)tasks * sizeof *task), *next = task + number;
    int64_t failed = !counts || !all || !task;
    if (!failed) {
        for (int64_t i = 0; i < number; i++) {
            all[i] = (Histogram){values[i], sizes[i], places, counts + i * places->places, {0},
                                 out + i * room, 0};
            task[i] = (Task){all + i, -1};
            for (int64_t first = 0; first < sizes[i]; first += CHUNK)
                *next++ = (Task){all + i, first};
        }
        if (total < FEW) threads = 1;
        in_parallel(measure, task, tasks, threads);
        in_parallel(put_histogram, all, number, threads);
        for (int64_t i = 0; i < number; i++) written[i] = all[i].written;
    }
    free(counts);
    free(all);
    free(task);
    return failed;
}
