/* Classes sampled at random: src/stillflow/ops/random/native_kernels.py.

   The same numbers as those of range_samplers.py, from the same words of the stream. */
#include "philox.h"

#include <math.h>
#include <stdlib.h>

enum { UNIFORM, LOG_UNIFORM, FIXED }; /* samplers */
enum { MOST_DRAWS = 1 << 22 };        /* that pass before other threads can go on */

typedef struct {
    int64_t kind, range;
    double log_range;     /* of a log-uniform sampler */
    const float *keep;    /* of a fixed one: Walker's table, */
    const int64_t *other;
    const float *weights; /* the weights of classes, */
    double total;         /* and their sum */
} Sampler;

/* ---- words of a stream, one after the other */

typedef struct {
    Stream stream;
    uint64_t next; /* block */
    int left;      /* of the words in hand, the last ones */
    uint32_t words[PER_BLOCK * BATCH];
} Words;

static void refill(Words *from) {
    uint32_t columns[PER_BLOCK][BATCH];
    uint64_t places[BATCH];
    for (int i = 0; i < BATCH; i++) places[i] = from->next + (uint64_t)i;
    fill_batch(&from->stream, places, columns);
    for (int i = 0; i < BATCH; i++)
        for (int w = 0; w < PER_BLOCK; w++) from->words[PER_BLOCK * i + w] = columns[w][i];
    from->next += BATCH, from->left = PER_BLOCK * BATCH;
}

static inline uint32_t next_word(Words *from) {
    if (!from->left) refill(from);
    return from->words[PER_BLOCK * BATCH - from->left--];
}

/* ---- draws */

/* How many of the smallest words are passed over, so that every remainder is as frequent. */
static inline uint64_t skewed(uint64_t limit, uint64_t largest) {
    return limit & (limit - 1) ? largest % limit + 1 : 0;
}

static int64_t draw_uniform(const Sampler *all, Words *from) {
    uint64_t limit = (uint64_t)all->range, least = skewed(limit, UINT64_MAX);
    for (;;) {
        uint64_t low = next_word(from), number = low | (uint64_t)next_word(from) << 32;
        if (number >= least) return (int64_t)(number % limit);
    }
}

static int64_t draw_log_uniform(const Sampler *all, Words *from) {
    uint32_t upper = next_word(from), lower = next_word(from);
    int64_t number = (int64_t)exp(unit_double(upper, lower) * all->log_range) - 1;
    return number % all->range;
}

static int64_t draw_fixed(const Sampler *all, Words *from) {
    uint32_t word = next_word(from), bucket, limit = (uint32_t)all->range;
    uint32_t least = (uint32_t)skewed(limit, UINT32_MAX);
    do bucket = next_word(from);
    while (bucket < least);
    bucket %= limit;
    float unit = (float)(word & 0x7FFFFFu) * 0x1p-23f;
    return unit < all->keep[bucket] ? (int64_t)bucket : all->other[bucket];
}

static inline int64_t draw(const Sampler *all, Words *from) {
    switch (all->kind) {
    case UNIFORM: return draw_uniform(all, from);
    case LOG_UNIFORM: return draw_log_uniform(all, from);
    default: return draw_fixed(all, from);
    }
}

/* Puts a class into a set of `room` places, a power of two; returns whether it is new there. */
static int put_new(int64_t *set, int64_t room, int64_t class) {
    uint64_t at = (uint64_t)class * 0x9E3779B97F4A7C15u >> 32;
    for (;; at++) {
        int64_t *place = set + (at & (uint64_t)(room - 1));
        if (*place == class) return 0;
        if (*place < 0) {
            *place = class;
            return 1;
        }
    }
}

/* Draws until there are `count` different classes; returns how many draws it took, -1 without
   memory or if there seem not to be as many. */
static int64_t draw_different(const Sampler *all, Words *from, int64_t count, int64_t *sampled) {
    int64_t room = 16, found = 0, draws = 0;
    while (room < 2 * count) room *= 2;
    int64_t *set = malloc((size_t)room * sizeof *set);
    if (!set) return -1;
    for (int64_t i = 0; i < room; i++) set[i] = -1;
    for (; found < count && draws < MOST_DRAWS; draws++) {
        int64_t class = draw(all, from);
        if (put_new(set, room, class)) sampled[found++] = class;
    }
    free(set);
    return found < count ? -1 : draws;
}

/* ---- how often classes are expected among those sampled */

static inline float probability(const Sampler *all, int64_t class) {
    if (all->kind == UNIFORM) return (float)(1.0 / (double)all->range);
    if (all->kind == LOG_UNIFORM)
        return (float)(log(((double)class + 2.0) / ((double)class + 1.0)) / all->log_range);
    if (class < 0 || class >= all->range) return 0;
    return all->weights[class] / (float)all->total;
}

static void expect(const Sampler *all, const int64_t *classes, int64_t count, int64_t draws,
                   int is_each_draw, float *out) {
    for (int64_t i = 0; i < count; i++) {
        float p = probability(all, classes[i]);
        float logs = is_each_draw ? 0 : (float)log1p(-(double)p) * (float)draws;
        out[i] = is_each_draw ? p * (float)draws : (float)-expm1((double)logs);
    }
}

/* Draws `count` classes, with `unique` different ones, from a position of a stream.

   true_classes: what else is to be expected.
   Returns 0, or -1 if draw_different does. */
PUBLIC int64_t sample_classes(const Sampler *all, int64_t key, int64_t low, int64_t high,
                              int64_t count, int64_t unique, const int64_t *true_classes,
                              int64_t true_count, int64_t *sampled, float *true_expected,
                              float *expected) {
    Words from = {{(uint64_t)key, (uint64_t)low, (uint64_t)high}, 0, 0, {0}};
    int64_t draws = count;
    if (unique)
        draws = draw_different(all, &from, count, sampled);
    else
        for (int64_t i = 0; i < count; i++) sampled[i] = draw(all, &from);
    if (draws < 0) return draws;
    expect(all, true_classes, true_count, draws, draws == count, true_expected);
    expect(all, sampled, count, draws, draws == count, expected);
    return 0;
}
