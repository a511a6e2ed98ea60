/* One step of a gated recurrent unit of few numbers: src/stillflow/ops/recurrent/gru_block.py.

   A call of torch for each of its fifteen operations takes longer than their numbers do. */
#include "panels.h"

enum { ROWS = 4 /* that share what is read of the weights */, SPAN = 32 /* columns at a time */ };

/* gru_block.py fills it. */
typedef struct {
    int64_t rows, inputs, cells;
    const float *x, *h, *gate_weights, *weights, *gate_bias, *bias;
    float *r, *u, *c, *out;
    float *room; /* [rows, 3 * cells] */
} Cell;

/* Adds products of `count` rows of x and weights [depth, columns], SPAN columns of them. */
INLINE void add_products(const float *x, int64_t depth, const float *weights, int64_t columns,
                         int64_t width, float (*sums)[SPAN], const int count) {
    for (int64_t k = 0; k < depth; k++)
        for (int row = 0; row < count; row++) {
            float number = x[row * depth + k];
            TURNS_APART
            for (int64_t j = 0; j < width; j++) sums[row][j] += number * weights[k * columns + j];
        }
}

INLINE void multiply_part(const float *const x[2], const int64_t depth[2], const float *weights,
                          int64_t columns, const float *bias, int64_t width, float *out,
                          const int count) {
    float sums[ROWS][SPAN];
    for (int row = 0; row < count; row++)
        for (int64_t j = 0; j < width; j++) sums[row][j] = bias[j];
    if (width == SPAN) {
        add_products(x[0], depth[0], weights, columns, SPAN, sums, count);
        add_products(x[1], depth[1], weights + depth[0] * columns, columns, SPAN, sums, count);
    } else {
        add_products(x[0], depth[0], weights, columns, width, sums, count);
        add_products(x[1], depth[1], weights + depth[0] * columns, columns, width, sums, count);
    }
    for (int row = 0; row < count; row++)
        memcpy(out + row * columns, sums[row], (size_t)width * sizeof *out);
}

/* bias + [x[0], x[1]] weights, [rows, columns]. */
INLINE void multiply_joined(const float *const x[2], const int64_t depth[2], int64_t rows,
                            const float *weights, int64_t columns, const float *bias, float *out) {
    for (int64_t row = 0; row < rows; row += row + ROWS <= rows ? ROWS : 1)
        for (int64_t j = 0; j < columns; j += SPAN) {
            const float *const at[2] = {x[0] + row * depth[0], x[1] + row * depth[1]};
            float *to = out + row * columns + j;
            int64_t width = least(SPAN, columns - j);
            if (row + ROWS <= rows)
                multiply_part(at, depth, weights + j, columns, bias + j, width, to, ROWS);
            else
                multiply_part(at, depth, weights + j, columns, bias + j, width, to, 1);
        }
}

FOR_EACH_MULTIPLIER
static void run_cell(const Cell *all) {
    int64_t cells = all->cells, depth[2] = {all->inputs, cells};
    float *gates = all->room, *state = gates + 2 * all->rows * cells;
    multiply_joined((const float *const[2]){all->x, all->h}, depth, all->rows, all->gate_weights,
                    2 * cells, all->gate_bias, gates);
    for (int64_t row = 0; row < all->rows; row++) {
        const float *z = gates + 2 * row * cells;
        int64_t at = row * cells;
        TURNS_APART
        for (int64_t k = 0; k < cells; k++) {
            all->r[at + k] = sigmoid(z[k]);
            all->u[at + k] = sigmoid(z[cells + k]);
            state[at + k] = all->h[at + k] * all->r[at + k];
        }
    }
    multiply_joined((const float *const[2]){all->x, state}, depth, all->rows, all->weights, cells,
                    all->bias, all->c);
    TURNS_APART
    for (int64_t k = 0; k < all->rows * cells; k++) {
        float u = all->u[k], c = hyperbolic_tangent(all->c[k]);
        all->c[k] = c;
        all->out[k] = u * all->h[k] + (1 - u) * c;
    }
}

/* Computes gates, candidate and state of a step. */
PUBLIC void gru_cell(const Cell *cell) { run_cell(cell); }
