/* The product of a sparse matrix and a dense one: src/stillflow/ops/sparse/native_kernels.py. */
#include "native.h"

enum {
    WIDE = 128,   /* columns of the result that one thread takes */
    FEW = 1 << 18 /* so many numbers take less time than waking up another thread */
};

typedef struct {
    const int64_t *indices; /* [count, 2] */
    const float *values;
    int64_t count;
    int64_t to; /* which of the two indices is the row of the result; the other, that of `dense` */
    const float *dense;
    int64_t columns;
    float *result;
    int64_t rows;
} Product;

FOR_EACH_PROCESSOR static void add_slice(void *data, int64_t slice) {
    const Product *all = data;
    int64_t columns = all->columns, first = slice * WIDE, to = all->to;
    int64_t width = columns - first < WIDE ? columns - first : WIDE;
    float *result = all->result + first;
    const float *dense = all->dense + first;
    for (int64_t row = 0; row < all->rows; row++)
        memset(result + row * columns, 0, (size_t)width * sizeof *result);
    for (int64_t i = 0; i < all->count; i++) {
        float *restrict sums = result + all->indices[2 * i + to] * columns;
        const float *restrict row = dense + all->indices[2 * i + 1 - to] * columns;
        float value = all->values[i];
        for (int64_t j = 0; j < width; j++) sums[j] += row[j] * value;
    }
}

/* Returns 1 if an index is outside, and then has written nothing.

   to: 0; 1 if the sparse matrix is transposed.
   inner: the rows of `dense`. */
PUBLIC int64_t multiply_sparse(const int64_t *indices, const float *values, int64_t count,
                               int64_t to, const float *dense, int64_t inner, int64_t columns,
                               float *result, int64_t rows, int64_t threads) {
    for (int64_t i = 0; i < count; i++) {
        int64_t row = indices[2 * i + to], of = indices[2 * i + 1 - to];
        if (row < 0 || row >= rows || of < 0 || of >= inner) return 1;
    }
    Product all = {indices, values, count, to, dense, columns, result, rows};
    if ((count + rows) * columns < FEW) threads = 1;
    in_parallel(add_slice, &all, (columns + WIDE - 1) / WIDE, threads);
    return 0;
}
