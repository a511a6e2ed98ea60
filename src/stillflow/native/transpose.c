/* A matrix transposed: src/stillflow/ops/nn/native_kernels.py. */
#include "native.h"

enum {
    SIDE = 16,    /* rows taken together: they fill a line of the processor's cache */
    FEW = 1 << 16 /* so many numbers take less time than waking up another thread */
};

typedef struct {
    const float *in;
    float *out;
    int64_t rows, columns;
} Matrix;

FOR_EACH_PROCESSOR
static void turn_rows(void *data, int64_t part) {
    const Matrix *all = data;
    int64_t rows = all->rows, columns = all->columns;
    int64_t count = rows - part * SIDE < SIDE ? rows - part * SIDE : SIDE;
    const float *in = all->in + part * SIDE * columns;
    float *out = all->out + part * SIDE;
    if (count == SIDE)
        for (int64_t j = 0; j < columns; j++)
            for (int64_t i = 0; i < SIDE; i++) out[j * rows + i] = in[i * columns + j];
    else
        for (int64_t j = 0; j < columns; j++)
            for (int64_t i = 0; i < count; i++) out[j * rows + i] = in[i * columns + j];
}

/* Writes `rows` times `columns` numbers as `columns` times `rows`. */
PUBLIC void transpose_matrix(const float *in, int64_t rows, int64_t columns, float *out,
                             int64_t threads) {
    Matrix all = {in, out, rows, columns};
    if (rows * columns < FEW) threads = 1;
    in_parallel(turn_rows, &all, (rows + SIDE - 1) / SIDE, threads);
}
