/* Numbers counted into the buckets of a `HistogramProto`: src/stillflow/ops/summary/buckets.py. */
#include "native.h"

#include <float.h>
#include <stdlib.h>

enum {
    LANES = 4,       /* rows of counters: one just increased does not have to wait */
    MANY = 1 << 11,  /* numbers that are worth more than one row */
    BLOCK = 1 << 12, /* numbers that stay near the processor */
    AHEAD = 1 << 10, /* numbers between what is read and what is asked for */
    CHUNK = 1 << 15, /* numbers that one thread counts at a time */
    FEW = 1 << 14,   /* so many take less time than waking up another thread */
    HEADERS = 36,    /* more bytes than stand around the tag, before the histogram */
    ROOM = 128       /* more than everything but tag, limits and counts */
};

/* Where numbers belong: class _Places in buckets.py, which says what a place is. */
typedef struct {
    const uint32_t *table; /* where the upper half of a number's bits leads */
    const double *limits;  /* of the buckets */
    int64_t places;
    int64_t minus_zero; /* the place of -0.0; the one before is of what is not finite, as the last */
} Places;

/* A vector, and the tag of its summary. */
typedef struct {
    const float *values;
    int64_t size;
    const uint8_t *tag;
    int64_t tag_size;
} Shown;

typedef struct {
    const Shown *shown;
    const Places *places;
    int64_t *counts;
    uint8_t *taken;     /* chunks that somebody counts */
    int64_t helpers;    /* threads that count while another adds up */
    int64_t unfinished; /* chunks to be counted, and the sums */
    double sums[2];     /* of the numbers and of their squares */
    int32_t ends[2];    /* the least and the largest, as `in_order` gives them */
    uint8_t *summary;   /* first the room for it */
    int64_t written;    /* its size; 0 if a number is not finite */
} Histogram;

typedef struct {
    Histogram *histogram;
    int64_t chunk; /* to be counted; -1 for the sums */
} Task;

/* The bits of a float as an integer that is larger where the float is; and back. */
static inline int32_t in_order(int32_t bits) { return bits ^ ((bits >> 31) & INT32_MAX); }

static double number_of(int32_t ordered) {
    float value;
    ordered = in_order(ordered);
    memcpy(&value, &ordered, sizeof value);
    return value;
}

/* The least and the largest number: compilers make vectors of integers, of floats one slow chain. */
FOR_EACH_PROCESSOR
static void find_ends(const float *values, int64_t size, int32_t *ends) {
    int32_t least = ends[0], largest = ends[1];
    for (int64_t i = 0; i < size; i++) {
        int32_t bits;
        memcpy(&bits, values + i, sizeof bits);
        bits = in_order(bits);
        least = bits < least ? bits : least;
        largest = bits > largest ? bits : largest;
    }
    ends[0] = least;
    ends[1] = largest;
}

static inline void count_one(uint32_t bits, const uint32_t *table, uint32_t *lane) {
    lane[(table[bits >> 16] + bits) >> 16]++;
}

/* Counts numbers, if there are `lanes`, and adds them up, if there are `sums`.

   row: how far one lane is from the next; 0 if there is only one.
   They are added in float64, one after the other as in TensorFlow: any other order rounds
   otherwise. Each addition waits for the one before, so to count meanwhile costs little. */
static inline void go_through(const float *values, int64_t size, const uint32_t *table,
                              uint32_t *lanes, int64_t row, double *sums) {
    int64_t i = 0;
    uint32_t *lane_at[LANES];
    for (int lane = 0; lane < LANES; lane++) lane_at[lane] = lanes ? lanes + lane * row : NULL;
    double sum = sums ? sums[0] : 0, squares = sums ? sums[1] : 0;
    for (; i + LANES <= size; i += LANES) {
        uint64_t pairs[LANES / 2]; /* half as many loads */
        memcpy(pairs, values + i, sizeof pairs);
        __builtin_prefetch(values + i + AHEAD, 0, 2); /* often changed by another processor before */
        for (int lane = 0; lanes && lane < LANES; lane++)
            count_one((uint32_t)(pairs[lane / 2] >> lane % 2 * 32), table, lane_at[lane]);
        for (int lane = 0; sums && lane < LANES; lane++) {
            double value = values[i + lane];
            sum += value;
            squares += value * value;
        }
    }
    for (; i < size; i++) {
        uint32_t bits;
        memcpy(&bits, values + i, sizeof bits);
        if (lanes) count_one(bits, table, lanes);
        double value = values[i];
        sum += value;
        squares += value * value;
    }
    if (!sums) return;
    sums[0] = sum;
    sums[1] = squares;
}

FOR_EACH_PROCESSOR
static void count_and_add(const float *values, int64_t size, const uint32_t *table,
                          uint32_t *lanes, int64_t row, double *sums) {
    go_through(values, size, table, lanes, row, sums);
}

FOR_EACH_PROCESSOR
static void count_only(const float *values, int64_t size, const uint32_t *table, uint32_t *lanes,
                       int64_t row) {
    go_through(values, size, table, lanes, row, NULL);
}

FOR_EACH_PROCESSOR
static void add_only(const float *values, int64_t size, double *sums) {
    go_through(values, size, NULL, NULL, 0, sums);
}

/* Whether a chunk was not taken until now. */
static int take_chunk(Histogram *all, int64_t chunk) {
    return !__atomic_exchange_n(all->taken + chunk, 1, __ATOMIC_RELAXED);
}

static int64_t least_of(int64_t left, int64_t right) { return left < right ? left : right; }

static int64_t lanes_for(const Histogram *all) { return all->shown->size < MANY ? 1 : LANES; }

/* How far one lane is from the next. */
static int64_t row_of(const Histogram *all) {
    return lanes_for(all) == 1 ? 0 : all->places->places;
}

/* Adds what was counted in lanes to the counts of a histogram. */
static void join_lanes(Histogram *all, uint32_t *lanes) {
    int64_t places = all->places->places;
    for (int64_t lane = 1; lane < lanes_for(all); lane++)
        for (int64_t place = 0; place < places; place++)
            lanes[place] += lanes[lane * places + place];
    for (int64_t place = 0; place < places; place++)
        if (lanes[place]) __atomic_fetch_add(all->counts + place, lanes[place], __ATOMIC_RELAXED);
}

static uint8_t *put_double(uint8_t *out, double value) {
    memcpy(out, &value, sizeof value);
    return out + sizeof value;
}

static uint8_t *put_header(uint8_t *out, int field, int64_t size) {
    *out++ = (uint8_t)(field << 3 | 2);
    return put_varint(out, (uint64_t)size);
}

/* Writes before a histogram what makes a `Summary` of it; returns where that begins. */
static uint8_t *put_before(uint8_t *content, int64_t size, const Shown *shown) {
    uint8_t before[12], tag[12], after[12];
    int64_t after_size = put_header(after, 5, size) - after;
    int64_t tag_size = shown->tag_size ? put_header(tag, 1, shown->tag_size) - tag : 0;
    int64_t inside = tag_size + shown->tag_size + after_size;
    int64_t before_size = put_header(before, 1, inside + size) - before;
    uint8_t *start = content - inside - before_size;
    memcpy(start, before, (size_t)before_size);
    memcpy(start + before_size, tag, (size_t)tag_size);
    memcpy(start + before_size + tag_size, shown->tag, (size_t)shown->tag_size);
    memcpy(content - after_size, after, (size_t)after_size);
    return start;
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
        out = put_header(out, 6 + column, kept * (int64_t)sizeof(double));
        memcpy(out, columns[column], (size_t)kept * sizeof(double));
        out += kept * sizeof(double);
    }
    return out;
}

/* Writes a summary into the room for it, from where the tag and the headers fit before.

   numbers: the least and the largest, how many there are, their sum and that of their squares.
   counts: by place; none is of a number that is not finite.
   summary: where the room begins; receives where the summary does. Returns its size. */
static int64_t put_summary(const Shown *shown, const Places *places, const double *numbers,
                           int64_t *counts, uint8_t **summary) {
    uint8_t *content = *summary + HEADERS + shown->tag_size, *end = content;
    for (int i = 0; i < 5; i++)
        if (numbers[i] != 0) {
            *end++ = (uint8_t)((i + 1) << 3 | 1);
            end = put_double(end, numbers[i]);
        }
    end = put_buckets(end, places, counts);
    *summary = put_before(content, end - content, shown);
    return end - *summary;
}

static int are_finite(const int64_t *counts, const Places *places) {
    return !counts[places->minus_zero - 1] && !counts[places->places - 1];
}

/* How much room a summary needs. */
static int64_t room_for(const Shown *shown, const Places *places) {
    return ROOM + 2 * (int64_t)sizeof(double) * places->places + shown->tag_size;
}

static void put_counted(Histogram *all) {
    const Shown *shown = all->shown;
    if (!are_finite(all->counts, all->places)) return;
    double least = shown->size ? number_of(all->ends[0]) : DBL_MAX;
    double largest = shown->size ? number_of(all->ends[1]) : -DBL_MAX;
    const double numbers[] = {least, largest, (double)shown->size, all->sums[0], all->sums[1]};
    all->written = put_summary(shown, all->places, numbers, all->counts, &all->summary);
}

/* Notes that some parts of a histogram are done, and writes it if they were the last. */
static void finish(Histogram *all, int64_t parts) {
    if (!__atomic_sub_fetch(&all->unfinished, parts, __ATOMIC_ACQ_REL)) put_counted(all);
}

/* Adds up all numbers, which takes longest, and counts them as long as nobody else does. */
static void add_up(Histogram *all, uint32_t *lanes) {
    const Shown *shown = all->shown;
    int64_t counted = 0;
    for (int64_t first = 0, chunk = 0; first < shown->size; first += CHUNK, chunk++) {
        int64_t last = least_of(first + CHUNK, shown->size);
        int alone = !__atomic_load_n(&all->helpers, __ATOMIC_RELAXED);
        int mine = alone && take_chunk(all, chunk);
        for (int64_t i = first; i < last; i += BLOCK) {
            int64_t size = least_of(BLOCK, last - i);
            const float *values = shown->values + i;
            if (mine)
                count_and_add(values, size, all->places->table, lanes, row_of(all), all->sums);
            else
                add_only(values, size, all->sums);
            find_ends(values, size, all->ends); /* now that they are near */
        }
        counted += mine;
    }
    if (counted) join_lanes(all, lanes);
    finish(all, counted + 1);
}

static void count(Histogram *all, int64_t chunk, uint32_t *lanes) {
    if (!take_chunk(all, chunk)) return;
    __atomic_add_fetch(&all->helpers, 1, __ATOMIC_RELAXED);
    int64_t first = chunk * CHUNK, size = least_of(CHUNK, all->shown->size - first);
    count_only(all->shown->values + first, size, all->places->table, lanes, row_of(all));
    join_lanes(all, lanes);
    finish(all, 1);
}

static void run(void *data, int64_t number) {
    const Task *task = (const Task *)data + number;
    uint32_t lanes[lanes_for(task->histogram) * task->histogram->places->places];
    memset(lanes, 0, sizeof lanes);
    if (task->chunk < 0)
        add_up(task->histogram, lanes);
    else
        count(task->histogram, task->chunk, lanes);
}

static int by_size(const void *left, const void *right) {
    int64_t one = ((const Task *)left)->histogram->shown->size;
    int64_t other = ((const Task *)right)->histogram->shown->size;
    return (one < other) - (one > other);
}

static int64_t chunks_of(const Shown *shown) { return (shown->size + CHUNK - 1) / CHUNK; }

/* What there is to do: first all sums, the longest first; then to count what is left of each. */
static int64_t list_tasks(Histogram *all, int64_t number, Task *tasks) {
    Task *next = tasks;
    for (int64_t i = 0; i < number; i++) *next++ = (Task){all + i, -1};
    qsort(tasks, (size_t)number, sizeof *tasks, by_size);
    for (int64_t i = 0; i < number; i++)
        for (int64_t chunk = chunks_of(all[i].shown) - 1; chunk >= 0; chunk--)
            *next++ = (Task){all + i, chunk};
    return next - tasks;
}

/* Serialized summaries of histograms of float32, one after the other.

   shown: `number` vectors.
   out: has room for 128 bytes, 16 per place and the tag, for each vector.
   ends: receives where each summary ends; one with a number that is not finite is left out.
   Returns 0, or 1 if there is no memory. */
PUBLIC int64_t histogram_summaries(const Shown *shown, int64_t number, const Places *places,
                                   uint8_t *out, int64_t *ends, int64_t threads) {
    int64_t chunks = 0, total = 0;
    for (int64_t i = 0; i < number; i++) {
        chunks += chunks_of(shown + i);
        total += shown[i].size;
    }
    int64_t *counts = calloc((size_t)(number * places->places), sizeof *counts);
    uint8_t *taken = calloc((size_t)chunks + 1, 1), *free_chunk = taken, *room = out;
    Histogram *all = malloc((size_t)number * sizeof *all);
    Task *tasks = malloc((size_t)(number + chunks) * sizeof *tasks);
    int64_t failed = !counts || !taken || !all || !tasks;
    if (!failed) {
        for (int64_t i = 0; i < number; i++) {
            all[i] = (Histogram){shown + i, places, counts + i * places->places, free_chunk,
                                 0, chunks_of(shown + i) + 1, {0}, {INT32_MAX, INT32_MIN}, room, 0};
            free_chunk += chunks_of(shown + i);
            room += room_for(shown + i, places);
        }
        in_parallel(run, tasks, list_tasks(all, number, tasks), total < FEW ? 1 : threads);
        for (int64_t i = 0; i < number; i++) {
            memmove(out, all[i].summary, (size_t)all[i].written);
            out += all[i].written;
            ends[i] = (i ? ends[i - 1] : 0) + all[i].written;
        }
    }
    free(counts);
    free(taken);
    free(all);
    free(tasks);
    return failed;
}

/* Serialized summaries of numbers that a device has counted, as the ones above.

   shown: `number` vectors; their values and sizes are not asked for.
   counted: of each vector the sum and that of squares, as doubles; then of each the least and the
   largest, as floats; then of each, as int32, how many are in each place, and 0 where the places
   are an odd number.
   Returns 0, or 1 if there is no memory. */
PUBLIC int64_t counted_summaries(const Shown *shown, int64_t number, const void *counted,
                                 const Places *places, uint8_t *out, int64_t *ends) {
    const double *sums = counted;
    const float *extremes = (const float *)(sums + 2 * number);
    const int32_t *counts = (const int32_t *)(extremes + 2 * number);
    int64_t row = (places->places + 1) & ~(int64_t)1;
    int64_t *mine = malloc((size_t)places->places * sizeof *mine), written = 0;
    if (!mine) return 1;
    for (int64_t i = 0; i < number; i++, sums += 2, extremes += 2, counts += row) {
        int64_t size = 0;
        for (int64_t place = 0; place < places->places; place++) size += mine[place] = counts[place];
        double least = size ? extremes[0] : DBL_MAX, largest = size ? extremes[1] : -DBL_MAX;
        const double numbers[] = {least, largest, (double)size, sums[0], sums[1]};
        uint8_t *summary = out + written;
        if (are_finite(mine, places)) {
            int64_t length = put_summary(shown + i, places, numbers, mine, &summary);
            memmove(out + written, summary, (size_t)length);
            written += length;
        }
        ends[i] = written;
    }
    free(mine);
    return 0;
}
