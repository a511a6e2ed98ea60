/* Products of float32 matrices with few columns: src/stillflow/ops/linalg/narrow_products.py.

   Libraries of matrices are made for wide ones: of ten columns, as the last layer of a classifier
   has, they take three to five times as long as this. */
#include "multiply_add.h"
#include "native.h"

#include <stdlib.h>

#define INLINE static inline __attribute__((always_inline))

#define EACH_ROW _Pragma("GCC unroll 16") for (int r = 0; r < rows; r++)

enum {
    HALF = 8,
    WHOLE = 16,  /* columns of a panel */
    TALL = 12,   /* rows whose sums fit into the registers */
    GROUP = 48,  /* rows that a thread takes */
    BLOCK = 256
};

typedef float Half __attribute__((vector_size(32), aligned(4), may_alias));
typedef float Whole __attribute__((vector_size(64), aligned(4), may_alias));

typedef struct {
    const float *a; /* [rows, depth], with strides */
    int64_t row, step;
    const float *panels; /* [panels, depth, width] */
    int64_t rows, depth, columns, width;
    float *out; /* [rows, columns] */
} Product;

/* Sums of BLOCK products are added up on their own, as long sums lose digits. */
#define MULTIPLY(name, Vector, LENGTH)                                                         \
    INLINE void name(const Product *it, const float *a, const float *panel, float *out,        \
                     int64_t columns, const int rows) {                                        \
        Vector totals[TALL] = {{0}};                                                           \
        int64_t row = it->row, step = it->step;                                                \
        for (int64_t first = 0; first < it->depth; first += BLOCK) {                           \
            int64_t end = first + BLOCK < it->depth ? first + BLOCK : it->depth;               \
            Vector sums[TALL];                                                                 \
            EACH_ROW sums[r] = (Vector){0};                                                    \
            for (int64_t k = first; k < end; k++, a += step, panel += LENGTH) {                \
                Vector b = *(const Vector *)panel;                                             \
                EACH_ROW sums[r] += a[r * row] * b;                                            \
            }                                                                                  \
            EACH_ROW totals[r] += sums[r];                                                     \
        }                                                                                      \
        EACH_ROW memcpy(out + r * it->columns, &totals[r], (size_t)columns * sizeof *out);     \
    }

MULTIPLY(multiply_half, Half, HALF)
MULTIPLY(multiply_whole, Whole, WHOLE)

#define ROWS(name, count) case count: name(it, a, panel, out, columns, count); break;
#define SWITCH(name)                                                                           \
    switch (rows) {                                                                            \
        ROWS(name, 1) ROWS(name, 2) ROWS(name, 3) ROWS(name, 4) ROWS(name, 5) ROWS(name, 6)    \
        ROWS(name, 7) ROWS(name, 8) ROWS(name, 9) ROWS(name, 10) ROWS(name, 11) ROWS(name, 12) \
    }

FOR_EACH_MULTIPLIER static void multiply_group(void *data, int64_t group) {
    const Product *it = data;
    int64_t end = (group + 1) * GROUP < it->rows ? (group + 1) * GROUP : it->rows;
    for (int64_t first = group * GROUP; first < end; first += TALL) {
        int64_t rows = end - first < TALL ? end - first : TALL;
        const float *a = it->a + first * it->row, *panel = it->panels;
        float *out = it->out + first * it->columns;
        for (int64_t done = 0; done < it->columns; done += it->width) {
            int64_t columns = it->columns - done < it->width ? it->columns - done : it->width;
            if (it->width == HALF)
                SWITCH(multiply_half)
            else
                SWITCH(multiply_whole)
            panel += it->depth * it->width, out += columns;
        }
    }
}

/* out[rows, columns] = a[rows, depth] * b[depth, columns].

   sizes: rows, depth, columns, the strides of a and those of b, in numbers.
   Returns 1, having written nothing, if there is no memory. */
PUBLIC int64_t multiply_narrow(const float *a, const float *b, const int64_t *sizes, float *out,
                               int64_t threads) {
    int64_t rows = sizes[0], depth = sizes[1], columns = sizes[2];
    int64_t width = columns <= HALF ? HALF : WHOLE, panels = (columns + width - 1) / width;
    float *packed = malloc((size_t)(panels * depth * width) * sizeof *packed);
    if (!packed) return 1;
    for (int64_t panel = 0; panel < panels; panel++) {
        float *to = packed + panel * depth * width;
        int64_t first = panel * width, count = columns - first < width ? columns - first : width;
        for (int64_t k = 0; k < depth; k++, to += width) {
            const float *from = b + k * sizes[5] + first * sizes[6];
            memset(to + count, 0, (size_t)(width - count) * sizeof *to);
            if (sizes[6] == 1)
                memcpy(to, from, (size_t)count * sizeof *to);
            else
                for (int64_t j = 0; j < count; j++) to[j] = from[j * sizes[6]];
        }
    }
    Product all = {a, sizes[3], sizes[4], packed, rows, depth, columns, width, out};
    in_parallel(multiply_group, &all, (rows + GROUP - 1) / GROUP, threads);
    free(packed);
    return 0;
}
