/* Products of the rows of a state and weights in panels, for layers of recurrent cells: of a step,
   they are the only part that needs the step before. The weights are packed once for all steps, into
   panels of WIDE columns. An item is a panel's cells of some rows: one thread computes their sums,
   and applies the cell's functions while the numbers are near. */
#ifndef STILLFLOW_PANELS_H
#define STILLFLOW_PANELS_H

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=fast") /* sums of products, as in a library of matrices */
#else
#pragma STDC FP_CONTRACT ON
#endif
#include "activations.h"

/* As FOR_EACH_PROCESSOR, with the instructions that multiply and add at once. */
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__)
#define FOR_EACH_MULTIPLIER __attribute__((target_clones("avx512f", "arch=haswell", "default")))
#else
#define FOR_EACH_MULTIPLIER
#endif

enum {
    WIDE = 32,       /* columns of a panel */
    TALL = 6,        /* rows whose sums fit into the registers, with vectors of 16 numbers */
    SHORT = 3,       /* with shorter vectors */
    GROUP = 24,      /* rows of an item */
    FEW = 1 << 15    /* products of a step that take less time than waking up another thread */
};

typedef float Vector __attribute__((vector_size(64), aligned(4), may_alias));

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Weights in panels. */
typedef struct {
    const float *weights; /* [depth, groups * columns], or [columns, depth] for their transposes */
    float *packed;        /* [panels of 32 columns, groups * depth, 32] */
    int64_t groups, depth, columns;
    const int64_t *places; /* of the groups in a row; or NULL for transposes, with a single group */
} Panels;

static inline int64_t panels_of(int64_t columns) { return (columns + WIDE - 1) / WIDE; }

/* sums[row][panel][column] of rows * panels * 2 vectors. */
INLINE void multiply(const float *x, int64_t stride, int64_t depth, const float *panel,
                     int64_t next_panel, float *out, const int rows, const int panels) {
    Vector sums[TALL * 2 > 8 ? TALL * 2 : 8];
#pragma GCC unroll 16
    for (int k = 0; k < rows * panels * 2; k++) sums[k] = (Vector){0};
    for (int64_t k = 0; k < depth; k++) {
#pragma GCC unroll 8
        for (int p = 0; p < panels; p++) {
            const float *from = panel + p * next_panel + k * WIDE;
            Vector left = *(const Vector *)from, right = *(const Vector *)(from + 16);
#pragma GCC unroll 8
            for (int r = 0; r < rows; r++) {
                float number = x[r * stride + k];
                sums[(r * panels + p) * 2] += number * left;
                sums[(r * panels + p) * 2 + 1] += number * right;
            }
        }
    }
#pragma GCC unroll 16
    for (int k = 0; k < rows * panels * 2; k++) *(Vector *)(out + k * 16) = sums[k];
}

/* Products of up to TALL rows and a panel, to out[row][WIDE]. */
INLINE void multiply_rows(const float *x, int64_t stride, int64_t depth, const float *panel,
                          float *out, int64_t rows) {
    switch (rows) {
    case 1: multiply(x, stride, depth, panel, 0, out, 1, 1); break;
    case 2: multiply(x, stride, depth, panel, 0, out, 2, 1); break;
    case 3: multiply(x, stride, depth, panel, 0, out, 3, 1); break;
    case 4: multiply(x, stride, depth, panel, 0, out, 4, 1); break;
    case 5: multiply(x, stride, depth, panel, 0, out, 5, 1); break;
    default: multiply(x, stride, depth, panel, 0, out, 6, 1); break;
    }
}

/* Products of up to GROUP rows and a panel's groups, to sums[group][row][WIDE]. */
INLINE void multiply_item(const Panels *all, const float *x, int64_t panel, int64_t rows,
                          int64_t tall, float (*sums)[GROUP * WIDE], const int groups) {
    int64_t depth = all->depth, size = depth * WIDE;
    const float *weights = all->packed + panel * groups * size;
    if (rows == 1 && groups > 1) { /* all at once: one alone would wait for each sum */
        float found[4 * WIDE];
        multiply(x, depth, depth, weights, size, found, 1, groups);
        for (int group = 0; group < groups; group++)
            memcpy(sums[group], found + group * WIDE, WIDE * sizeof *found);
        return;
    }
    for (int group = 0; group < groups; group++) /* a panel stays in the nearest cache */
        for (int64_t row = 0; row < rows; row += tall)
            multiply_rows(x + row * depth, depth, depth, weights + group * size,
                          sums[group] + row * WIDE, least(tall, rows - row));
}

/* A thread has the same items in every step: their panels stay in its cache. */
#define EACH_ITEM(all, do_item)                                                               \
    int64_t groups_ = ((all)->rows + GROUP - 1) / GROUP;                                      \
    int64_t items_ = panels_of((all)->cells) * groups_, end_ = items_ * (slot + 1) / (all)->slots; \
    for (int64_t item = items_ * slot / (all)->slots; item < end_; item++) {                  \
        int64_t row = item % groups_ * GROUP;                                                 \
        do_item(all, item / groups_, row, least(row + GROUP, (all)->rows));                   \
    }

static void pack_panel(void *data, int64_t panel) {
    const Panels *all = data;
    int64_t depth = all->depth, first = panel * WIDE, count = least(WIDE, all->columns - first);
    float *to = all->packed + panel * all->groups * depth * WIDE;
    for (int64_t group = 0; group < all->groups && all->places != NULL; group++)
        for (int64_t k = 0; k < depth; k++, to += WIDE) {
            int64_t place = all->groups * k + all->places[group];
            memset(to + count, 0, (size_t)(WIDE - count) * sizeof *to);
            memcpy(to, all->weights + place * all->columns + first, (size_t)count * sizeof *to);
        }
    if (all->places != NULL) return;
    memset(to, 0, (size_t)(depth * WIDE) * sizeof *to);
    enum { TILE = 16 };
    for (int64_t begin = 0; begin < depth; begin += TILE)
        for (int64_t j = 0; j < count; j++) {
            const float *from = all->weights + (first + j) * depth;
            for (int64_t k = begin; k < least(begin + TILE, depth); k++) to[k * WIDE + j] = from[k];
        }
}

/* Returns the number of threads that a step is worth. */
static inline int64_t slots_of(int64_t rows, int64_t cells, int64_t depth, int64_t threads) {
    int64_t items = panels_of(cells) * ((rows + GROUP - 1) / GROUP);
    return rows * cells * depth < FEW ? 1 : least(threads, items);
}

static inline void pack(Panels *all, int64_t threads) {
    in_parallel(pack_panel, all, panels_of(all->columns), threads);
}

static inline int64_t rows_at_once(void) {
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("avx512f")) return TALL;
#endif
    return SHORT;
}

#endif
