/* Products of the rows of a state and weights in panels, for layers of recurrent cells: of a step,
   they are the only part that needs the step before. The weights are packed once for all steps, into
   panels of a few cells' columns. An item is a panel's cells of some rows: one thread computes their
   sums, and applies the cell's functions while the numbers are near. */
#ifndef STILLFLOW_PANELS_H
#define STILLFLOW_PANELS_H

#include "multiply_add.h"
#include "activations.h"

enum {
    LANES = 16,        /* numbers of a vector */
    WIDE = 4 * LANES,  /* columns of a panel */
    GROUP = 32,        /* the most rows of an item */
    FEW = 1 << 15      /* products of a step that take less time than waking up another thread */
};

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t parts_of(int64_t size, int64_t part) { return (size + part - 1) / part; }

/* Weights in panels: for each panel of WIDE / groups cells, and for each row of the weights, the
   columns of its cells in the first group, then those in the next one. The last panel may have fewer
   vectors. */
typedef struct {
    const float *weights;  /* [depth, groups * cells], or [cells, depth] for their transposes */
    const float *bias;     /* [groups * cells], or NULL: packed as a row before the others */
    float *packed;         /* [vectors of cells, depth (+ 1 with bias), groups, LANES] */
    int64_t groups, depth, cells;
    const int64_t *places; /* of the groups in a row; or NULL for transposes, with a single group */
    int64_t lines;         /* rows of a panel: depth (+ 1) */
} Panels;

static inline Panels panels_by(const float *weights, float *packed, int64_t groups, int64_t depth,
                               int64_t cells, const int64_t *places) {
    return (Panels){weights, NULL, packed, groups, depth, cells, places, depth};
}

/* Cells of a panel. */
static inline int64_t cells_of(const Panels *all) { return WIDE / all->groups; }
static inline int64_t panels_of(const Panels *all) { return parts_of(all->cells, cells_of(all)); }

static inline const float *panel_of(const Panels *all, int64_t panel) {
    return all->packed + panel * WIDE * all->lines;
}

/* Vectors of each group in a panel, and columns of all. */
static inline int64_t vectors_of(const Panels *all, int64_t panel) {
    int64_t cells = cells_of(all);
    return parts_of(least(cells, all->cells - panel * cells), LANES);
}

static inline int64_t line_of(const Panels *all, int64_t panel) {
    return all->groups * vectors_of(all, panel) * LANES;
}

/* Some rows of numbers, which are multiplied with rows of weights. */
typedef struct {
    const float *numbers;
    int64_t stride, depth;
} Rows;

/* out[row][column] = start[row][column] + sum of the products of the rows of x, one after the other
   for each of the parts, with a panel of `line` columns. Without a start it is 0. Vectors of a row of
   `out` are `next` numbers apart. */
void multiply_panel(const Rows *x, int64_t parts, const float *panel, int64_t line,
                    const float *start, int64_t start_stride, float *out, int64_t out_stride,
                    int64_t next, int64_t rows);

void pack(const Panels *all, int64_t threads);

/* ---- Items and threads */

typedef struct {
    int64_t panels, groups, rows, slots;
    int by_panels; /* a thread has all rows of some panels, rather than all panels of some rows */
} Items;

/* Panels stay in the cache of a thread. Where they do not come out even, rows may. */
static inline Items items_of(int64_t panels, int64_t rows, int64_t products, int64_t threads) {
    Items all = {.panels = panels, .rows = rows, .by_panels = 1};
    all.groups = parts_of(rows, GROUP);
    int64_t slots = products < FEW ? 1 : least(threads, MOST_SLOTS);
    if (panels % slots && rows >= 2 * slots) {
        all.by_panels = 0;
        all.groups = parts_of(all.groups, slots) * slots;
    }
    all.slots = least(slots, panels * all.groups);
    return all;
}

/* A thread has the same items in every step. */
#define EACH_ITEM(items, do_item, ...)                                                            \
    int64_t count_ = (items).panels * (items).groups;                                             \
    int64_t end_ = count_ * (slot + 1) / (items).slots;                                           \
    for (int64_t item_ = count_ * slot / (items).slots; item_ < end_; item_++) {                  \
        int64_t group_ = (items).by_panels ? item_ % (items).groups : item_ / (items).panels;     \
        do_item(__VA_ARGS__, (items).by_panels ? item_ / (items).groups : item_ % (items).panels, \
                (items).rows * group_ / (items).groups,                                           \
                (items).rows * (group_ + 1) / (items).groups);                                    \
    }

#endif
