/* ReLU with what stands before it, and its gradient: src/stillflow/ops/nn/native_kernels.py.

   What lets no gradient pass multiplies it by 0: one that is not finite becomes no number. */
#include "rows.h"

#include <stdlib.h>

enum { SINGLE = 64 }; /* rows that are added in float32 */

typedef struct {
    const float *x; /* what is added to, or the gradient of the result */
    const float *bias;
    const float *relu; /* the result */
    float *out;
    Rows rows;
    double *sums;
} Bias;

FOR_EACH_PROCESSOR
static void add_part(void *data, int64_t part) {
    const Bias *all = data;
    int64_t columns = all->rows.columns, last = end_of_part(&all->rows, part);
    const float *bias = all->bias;
    for (int64_t i = part * all->rows.of_part; i < last; i++) {
        const float *row = all->x + i * columns;
        float *out = all->out + i * columns;
        for (int64_t j = 0; j < columns; j++) {
            float sum = row[j] + bias[j];
            out[j] = sum < 0 ? 0 : sum;
        }
    }
}

FOR_EACH_PROCESSOR
static void propagate_part(void *data, int64_t part) {
    const Bias *all = data;
    int64_t columns = all->rows.columns, last = end_of_part(&all->rows, part);
    double *sums = all->sums + part * columns;
    float some[columns];
    for (int64_t j = 0; j < columns; j++) sums[j] = some[j] = 0;
    int64_t left = SINGLE;
    for (int64_t i = part * all->rows.of_part; i < last; i++) {
        const float *row = all->x + i * columns, *relu = all->relu + i * columns;
        float *out = all->out + i * columns;
        for (int64_t j = 0; j < columns; j++) {
            float passed = row[j] * (relu[j] > 0 ? 1.0F : 0.0F);
            out[j] = passed;
            some[j] += passed;
        }
        if (--left == 0 || i + 1 == last) {
            for (int64_t j = 0; j < columns; j++) {
                sums[j] += some[j];
                some[j] = 0;
            }
            left = SINGLE;
        }
    }
}

/* The sum of an image and a bias, without what is negative.

   bias: a number for each channel.
   out: may be x.
   Returns 0, or 1 if there is no memory. */
PUBLIC int64_t add_bias_relu(const float *x, int64_t rows, int64_t channels, const float *bias,
                             float *out, int64_t threads) {
    Bias all = {.x = x, .out = out, .rows = rows_of(rows, channels)};
    float *row = malloc((size_t)all.rows.columns * sizeof *row);
    if (!row) return 1;
    memcpy(row, bias, (size_t)channels * sizeof *row);
    repeat_channels(&all.rows, channels, row);
    all.bias = row;
    in_parallel(add_part, &all, parts_of(&all.rows), threads);
    free(row);
    return 0;
}

/* The gradients of `add_bias_relu` for the image and for the bias.

   grad: of the result, which is `relu`.
   out: may be `grad`.
   Returns 0, or 1 if there is no memory. */
PUBLIC int64_t bias_relu_gradient(const float *grad, const float *relu, int64_t rows,
                                  int64_t channels, float *out, float *dbias, int64_t threads) {
    Bias all = {.x = grad, .relu = relu, .out = out, .rows = rows_of(rows, channels)};
    int64_t columns = all.rows.columns, parts = parts_of(&all.rows);
    all.sums = malloc((size_t)(parts * columns) * sizeof *all.sums);
    if (!all.sums) return 1;
    in_parallel(propagate_part, &all, parts, threads);
    for (int64_t channel = 0; channel < channels; channel++) {
        double sum = 0;
        for (int64_t i = channel; i < parts * columns; i += channels) sum += all.sums[i];
        dbias[channel] = (float)sum;
    }
    free(all.sums);
    return 0;
}

typedef struct {
    const float *one, *other, *relu;
    float *out;
    int64_t size;
} Gradients;

FOR_EACH_PROCESSOR
static void add_gradients(void *data, int64_t part) {
    const Gradients *all = data;
    const float *one = all->one, *other = all->other, *relu = all->relu;
    float *out = all->out;
    int64_t first = part * PART, last = first + PART < all->size ? first + PART : all->size;
    for (int64_t i = first; i < last; i++)
        out[i] = (one[i] + other[i]) * (relu[i] > 0 ? 1.0F : 0.0F);
}

/* The gradient of a ReLU whose result, `relu`, has two gradients; out may be one of them. */
PUBLIC void relu_gradient_of_sum(const float *one, const float *other, const float *relu,
                                 int64_t size, float *out, int64_t threads) {
    Gradients all = {one, other, relu, out, size};
    in_parallel(add_gradients, &all, (size + PART - 1) / PART, threads);
}

FOR_EACH_PROCESSOR
static void pass_below_6(void *data, int64_t part) {
    const Gradients *all = data;
    const float *grad = all->one, *relu = all->relu;
    float *out = all->out;
    int64_t first = part * PART, last = first + PART < all->size ? first + PART : all->size;
    for (int64_t i = first; i < last; i++)
        out[i] = grad[i] * (relu[i] > 0 ? 1.0F : 0.0F) * (relu[i] < 6 ? 1.0F : 0.0F);
}

/* The gradient of a ReLU that ends at 6; `relu` is its result or what it was of. */
PUBLIC void relu6_gradient(const float *grad, const float *relu, int64_t size, float *out,
                           int64_t threads) {
    Gradients all = {grad, NULL, relu, out, size};
    in_parallel(pass_below_6, &all, (size + PART - 1) / PART, threads);
}

FOR_EACH_PROCESSOR
static void pass_exponential(void *data, int64_t part) {
    const Gradients *all = data;
    const float *grad = all->one, *elu = all->relu;
    float *out = all->out;
    int64_t first = part * PART, last = first + PART < all->size ? first + PART : all->size;
    for (int64_t i = first; i < last; i++) out[i] = grad[i] * ((elu[i] < 0 ? elu[i] : 0) + 1);
}

/* The gradient of an ELU, given its result, `elu`; it passes whole where that is no number. */
PUBLIC void elu_gradient(const float *grad, const float *elu, int64_t size, float *out,
                         int64_t threads) {
    Gradients all = {grad, NULL, elu, out, size};
    in_parallel(pass_exponential, &all, (size + PART - 1) / PART, threads);
}
