/* Batch normalization of images whose channels come last: src/stillflow/ops/nn/batch_norm.py.

   Each pass reads memory once; what it needs twice it takes again while it is near. */
#include "rows.h"

#include <math.h>
#include <stdlib.h>

enum { NEAR = 4096 }; /* numbers that stay next to the processor while they are read twice */

typedef struct {
    const float *x, *grad;
    const float *other; /* what is added to the result; NULL for nothing */
    const float *relu;  /* where this is not above zero no gradient passes; NULL for everywhere */
    float *out;
    Rows rows;
    int64_t clip; /* whether the result is to have nothing below zero */
    double *sums;                        /* a pair of rows for each part */
    const float *mean, *factor, *offset; /* for each column */
    const float *shift, *slope;          /* of the gradient */
} Matrix;

/* For each column: the mean of a part's rows, and the sum of the squared distances from it. */
FOR_EACH_PROCESSOR
static void measure_part(void *data, int64_t part) {
    const Matrix *all = data;
    int64_t columns = all->rows.columns, near = NEAR / columns + 1;
    int64_t first = part * all->rows.of_part, last = end_of_part(&all->rows, part);
    double *mean = all->sums + 2 * part * columns, *spread = mean + columns;
    float sum[columns], squares[columns], center[columns];
    memset(mean, 0, 2 * (size_t)columns * sizeof *mean);
    for (int64_t start = first; start < last; start += near) {
        int64_t end = start + near < last ? start + near : last, count = end - start;
        for (int64_t j = 0; j < columns; j++) sum[j] = squares[j] = 0;
        for (int64_t i = start; i < end; i++) {
            const float *row = all->x + i * columns;
            for (int64_t j = 0; j < columns; j++) sum[j] += row[j];
        }
        for (int64_t j = 0; j < columns; j++) center[j] = sum[j] / (float)count;
        for (int64_t i = start; i < end; i++) {
            const float *row = all->x + i * columns;
            for (int64_t j = 0; j < columns; j++) {
                float distance = row[j] - center[j];
                squares[j] += distance * distance;
            }
        }
        double before = (double)(start - first), share = count / (before + count);
        for (int64_t j = 0; j < columns; j++) { /* Chan et al., 1979 */
            double step = center[j] - mean[j];
            mean[j] += step * share;
            spread[j] += squares[j] + step * step * before * share;
        }
    }
}

FOR_EACH_PROCESSOR
static void normalize_part(void *data, int64_t part) {
    const Matrix *all = data;
    int64_t columns = all->rows.columns;
    int64_t first = part * all->rows.of_part, last = end_of_part(&all->rows, part);
    const float *mean = all->mean, *factor = all->factor, *offset = all->offset;
    for (int64_t i = first; i < last; i++) {
        const float *row = all->x + i * columns;
        float *out = all->out + i * columns;
        for (int64_t j = 0; j < columns; j++)
            out[j] = (row[j] - mean[j]) * factor[j] + offset[j];
        if (all->other) {
            const float *other = all->other + i * columns;
            for (int64_t j = 0; j < columns; j++) out[j] += other[j];
        }
        if (all->clip)
            for (int64_t j = 0; j < columns; j++) out[j] = out[j] < 0 ? 0 : out[j];
    }
}

/* A row of the gradient, as far as the activation that followed lets it pass. */
static inline __attribute__((always_inline)) const float *gradient_row(const Matrix *all, int64_t i,
                                                                       float *room) {
    int64_t columns = all->rows.columns;
    const float *grad = all->grad + i * columns;
    if (!all->relu) return grad;
    const float *out = all->relu + i * columns;
    for (int64_t j = 0; j < columns; j++) room[j] = grad[j] * (out[j] > 0 ? 1.0F : 0.0F);
    return room;
}

/* For each column: the sum of a part's gradients, and of them times the distances from the mean. */
FOR_EACH_PROCESSOR
static void measure_gradient(void *data, int64_t part) {
    const Matrix *all = data;
    int64_t columns = all->rows.columns, near = NEAR / columns + 1;
    int64_t first = part * all->rows.of_part, last = end_of_part(&all->rows, part);
    const float *mean = all->mean;
    double *sums = all->sums + 2 * part * columns, *products = sums + columns;
    float sum[columns], product[columns], room[columns];
    memset(sums, 0, 2 * (size_t)columns * sizeof *sums);
    for (int64_t start = first; start < last; start += near) {
        int64_t end = start + near < last ? start + near : last;
        for (int64_t j = 0; j < columns; j++) sum[j] = product[j] = 0;
        for (int64_t i = start; i < end; i++) {
            const float *row = all->x + i * columns, *grad = gradient_row(all, i, room);
            for (int64_t j = 0; j < columns; j++) {
                sum[j] += grad[j];
                product[j] += grad[j] * (row[j] - mean[j]);
            }
        }
        for (int64_t j = 0; j < columns; j++) {
            sums[j] += sum[j];
            products[j] += product[j];
        }
    }
}

FOR_EACH_PROCESSOR
static void propagate_part(void *data, int64_t part) {
    const Matrix *all = data;
    int64_t columns = all->rows.columns;
    int64_t first = part * all->rows.of_part, last = end_of_part(&all->rows, part);
    const float *mean = all->mean, *factor = all->factor;
    const float *shift = all->shift, *slope = all->slope;
    float room[columns];
    for (int64_t i = first; i < last; i++) {
        const float *row = all->x + i * columns, *grad = gradient_row(all, i, room);
        float *out = all->out + i * columns;
        for (int64_t j = 0; j < columns; j++)
            out[j] = factor[j] * (grad[j] - shift[j] - (row[j] - mean[j]) * slope[j]);
    }
}

/* Normalizes with the mean and the variance of the images themselves.

   x, y: `rows` times `channels` numbers; y receives the result, plus `other` where that is not
   NULL, and without what is negative where `relu` is not 0.
   mean, variance, biased: receive a number for each channel; `variance` the unbiased estimate.
   Returns 0, or 1 if there is no memory. */
PUBLIC int64_t batch_norm_train(const float *x, int64_t rows, int64_t channels, const float *scale,
                                const float *offset, double epsilon, const float *other,
                                int64_t relu, float *y, float *mean, float *variance,
                                float *biased, int64_t threads) {
    Matrix all = {.rows = rows_of(rows, channels)};
    int64_t columns = all.rows.columns, parts = parts_of(&all.rows);
    double *sums = malloc((2 * (size_t)parts + 2) * (size_t)columns * sizeof *sums);
    if (!sums) return 1;
    float *constants = (float *)(sums + 2 * parts * columns); /* three of four rows */
    all.x = x, all.sums = sums, all.out = y, all.other = other, all.clip = relu;
    in_parallel(measure_part, &all, parts, threads);
    for (int64_t channel = 0; channel < channels; channel++) {
        double average = 0, spread = 0, before = 0;
        for (int64_t part = 0; part < parts; part++) {
            double count = (double)(end_of_part(&all.rows, part) - part * all.rows.of_part);
            for (int64_t j = channel; j < columns; j += channels) {
                const double *found = sums + 2 * part * columns + j;
                double step = found[0] - average, share = count / (before + count);
                average += step * share;
                spread += found[columns] + step * step * before * share;
                before += count;
            }
        }
        mean[channel] = (float)average;
        variance[channel] = (float)(spread / (rows > 1 ? (double)(rows - 1) : 1));
        biased[channel] = (float)(spread / (double)rows);
        constants[channel] = mean[channel];
        constants[columns + channel] = (float)(scale[channel] / sqrt(spread / (double)rows + epsilon));
        constants[2 * columns + channel] = offset[channel];
    }
    for (int i = 0; i < 3; i++) repeat_channels(&all.rows, channels, constants + i * columns);
    all.mean = constants, all.factor = constants + columns, all.offset = constants + 2 * columns;
    in_parallel(normalize_part, &all, parts, threads);
    free(sums);
    return 0;
}

/* The gradients of `batch_norm_train` for the image, the scale and the offset.

   mean, variance: of the images, the variance biased.
   relu: the result after a ReLU that followed, or NULL: `grad` is then the gradient of that.
   Returns 0, or 1 if there is no memory. */
PUBLIC int64_t batch_norm_gradient(const float *grad, const float *relu, const float *x,
                                   int64_t rows, int64_t channels, const float *scale,
                                   const float *mean, const float *variance, double epsilon,
                                   float *dx, float *dscale, float *doffset, int64_t threads) {
    Matrix all = {.rows = rows_of(rows, channels)};
    int64_t columns = all.rows.columns, parts = parts_of(&all.rows);
    double *sums = malloc((2 * (size_t)parts + 2) * (size_t)columns * sizeof *sums);
    if (!sums) return 1;
    float *constants = (float *)(sums + 2 * parts * columns);
    memcpy(constants, mean, (size_t)channels * sizeof *mean);
    repeat_channels(&all.rows, channels, constants);
    all.x = x, all.grad = grad, all.sums = sums, all.out = dx;
    all.mean = constants, all.relu = relu;
    in_parallel(measure_gradient, &all, parts, threads);
    for (int64_t channel = 0; channel < channels; channel++) {
        double sum = 0, product = 0, inverse = 1 / (variance[channel] + epsilon);
        for (int64_t part = 0; part < parts; part++)
            for (int64_t j = channel; j < columns; j += channels) {
                sum += sums[2 * part * columns + j];
                product += sums[(2 * part + 1) * columns + j];
            }
        doffset[channel] = (float)sum;
        dscale[channel] = (float)(product * sqrt(inverse));
        constants[columns + channel] = (float)(scale[channel] * sqrt(inverse));
        constants[2 * columns + channel] = (float)(sum / (double)rows);
        constants[3 * columns + channel] = (float)(product * inverse / (double)rows);
    }
    for (int i = 1; i < 4; i++) repeat_channels(&all.rows, channels, constants + i * columns);
    all.factor = constants + columns;
    all.shift = constants + 2 * columns, all.slope = constants + 3 * columns;
    in_parallel(propagate_part, &all, parts, threads);
    free(sums);
    return 0;
}
