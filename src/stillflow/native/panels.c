/* Products with weights in panels, and how they are packed: panels.h. */
#include "panels.h"

#include <stddef.h>

enum { TALL = 6 /* rows whose sums fit into the registers with all vectors of a panel */ };

typedef float Vector __attribute__((vector_size(64), aligned(4), may_alias));

typedef struct {
    const Rows *x;
    int64_t parts;
    const float *panel;
    int64_t line;
    const float *start;
    int64_t start_stride;
    float *out;
    int64_t out_stride, next;
} Tile;

INLINE void multiply(const Tile *all, int64_t row, int64_t column, const int rows,
                     const int vectors) {
    Vector sums[TALL * 4];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            const float *start = all->start + (row + r) * all->start_stride + column + v * LANES;
            sums[r * vectors + v] = all->start == NULL ? (Vector){0} : *(const Vector *)start;
        }
    const float *panel = all->panel + column;
    int64_t line = all->line;
    for (int64_t part = 0; part < all->parts; part++) {
        int64_t stride = all->x[part].stride, depth = all->x[part].depth;
        const float *x = all->x[part].numbers + row * stride;
        for (int64_t k = 0; k < depth; k++, panel += line) {
            Vector weights[4];
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) weights[v] = *(const Vector *)(panel + v * LANES);
#pragma GCC unroll 8
            for (int r = 0; r < rows; r++) {
                float number = x[r * stride + k];
#pragma GCC unroll 4
                for (int v = 0; v < vectors; v++) sums[r * vectors + v] += number * weights[v];
            }
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            *(Vector *)(all->out + (row + r) * all->out_stride +
                        (column / LANES + v) * all->next) = sums[r * vectors + v];
}

#define TILE(rows, vectors) \
    case 8 * rows + vectors: multiply(all, row, column, rows, vectors); break;
#define TILES(rows) TILE(rows, 1) TILE(rows, 2) TILE(rows, 3) TILE(rows, 4)

FOR_EACH_MULTIPLIER
static void multiply_tile(const Tile *all, int64_t row, int64_t column, int64_t rows,
                          int64_t vectors) {
    switch (8 * rows + vectors) { TILES(1) TILES(2) TILES(3) TILES(4) TILES(5) TILES(6) }
}

static int has_many_registers(void) {
#if defined(__x86_64__) && defined(__GNUC__)
    return __builtin_cpu_supports("avx512f");
#else
    return 0;
#endif
}

void multiply_panel(const Rows *x, int64_t parts, const float *panel, int64_t line,
                    const float *start, int64_t start_stride, float *out, int64_t out_stride,
                    int64_t next, int64_t rows) {
    Tile all = {x, parts, panel, line, start, start_stride, out, out_stride, next};
    /* With fewer registers, half as many rows and columns at once; but a single row would wait for
       each of so few sums. */
    int many = has_many_registers();
    int64_t tiles = parts_of(rows, many ? TALL : TALL / 2), vectors = line / LANES;
    int64_t once = many || rows == 1 ? 4 : 2;
    for (int64_t first = 0; first < vectors; first += once)
        for (int64_t tile = 0; tile < tiles; tile++) {
            int64_t row = rows * tile / tiles, end = rows * (tile + 1) / tiles;
            multiply_tile(&all, row, first * LANES, end - row, least(once, vectors - first));
        }
}

static void pack_line(const Panels *all, int64_t panel, const float *from, float *to) {
    int64_t first = panel * cells_of(all), width = vectors_of(all, panel) * LANES;
    int64_t count = least(width, all->cells - first);
    for (int64_t group = 0; group < all->groups; group++, to += width) {
        int64_t place = all->places == NULL ? group : all->places[group];
        memset(to + count, 0, (size_t)(width - count) * sizeof *to);
        memcpy(to, from + place * all->cells + first, (size_t)count * sizeof *to);
    }
}

static void pack_panel(void *data, int64_t panel) {
    const Panels *all = data;
    int64_t depth = all->depth, line = line_of(all, panel), first = panel * cells_of(all);
    float *to = (float *)panel_of(all, panel);
    if (all->lines > depth) {
        pack_line(all, panel, all->bias, to);
        to += line;
    }
    for (int64_t k = 0; k < depth && all->places != NULL; k++)
        pack_line(all, panel, all->weights + k * all->groups * all->cells, to + k * line);
    if (all->places != NULL) return;
    enum { BLOCK = 16 };
    int64_t count = least(line, all->cells - first);
    for (int64_t begin = 0; begin < depth; begin += BLOCK)
        for (int64_t j = 0; j < line; j++) {
            const float *from = all->weights + (first + j) * depth;
            for (int64_t k = begin; k < least(begin + BLOCK, depth); k++)
                to[k * line + j] = j < count ? from[k] : 0;
        }
}

void pack(const Panels *all, int64_t threads) {
    in_parallel(pack_panel, (void *)all, panels_of(all), threads);
}
