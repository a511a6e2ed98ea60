/* Optimizers' rules for the rows that have gradients: src/stillflow/ops/training/rows.py.

   A row that is named twice is updated twice, one after the other. Every function looks at all
   indices first, and returns 1, having changed nothing, if one is out of range. */
#include "native.h"

#include <math.h>

/* What every rule takes: rows of `width` numbers for each index. */
typedef struct {
    const float *grad;
    const void *indices; /* int32 if `bytes` is 4, else int64 */
    int64_t bytes, number, width, rows;
} Gradients;

static inline int64_t row_of(const Gradients *all, int64_t i) {
    return all->bytes == 4 ? ((const int32_t *)all->indices)[i]
                           : ((const int64_t *)all->indices)[i];
}

static int are_inside(const Gradients *all) {
    for (int64_t i = 0; i < all->number; i++)
        if (row_of(all, i) < 0 || row_of(all, i) >= all->rows) return 0;
    return 1;
}

/* Duchi, Hazan and Singer (2011). */
PUBLIC int64_t adagrad_rows(const Gradients *all, float *var, float *accum, double rate,
                            int64_t update_slots) {
    if (!are_inside(all)) return 1;
    float lr = (float)rate;
    for (int64_t i = 0; i < all->number; i++) {
        const float *grad = all->grad + i * all->width;
        float *v = var + row_of(all, i) * all->width, *a = accum + row_of(all, i) * all->width;
        for (int64_t j = 0; j < all->width; j++) {
            if (update_slots) a[j] += grad[j] * grad[j];
            v[j] -= grad[j] * lr * (1 / sqrtf(a[j]));
        }
    }
    return 0;
}

/* Follow the regularized leader (McMahan et al., 2013), with square roots as powers. */
PUBLIC int64_t ftrl_rows(const Gradients *all, float *var, float *accum, float *linear, double rate,
                         double first_penalty, double second_penalty) {
    if (!are_inside(all)) return 1;
    float lr = (float)rate, l1 = (float)first_penalty, l2 = (float)second_penalty;
    for (int64_t i = 0; i < all->number; i++) {
        const float *grad = all->grad + i * all->width;
        int64_t first = row_of(all, i) * all->width;
        float *v = var + first, *a = accum + first, *z = linear + first;
        for (int64_t j = 0; j < all->width; j++) {
            float squares = a[j] + grad[j] * grad[j], root = sqrtf(squares);
            z[j] += grad[j] - (root - sqrtf(a[j])) / lr * v[j];
            float sign = (float)(z[j] > 0) - (float)(z[j] < 0);
            float shrunk = (l1 * sign - z[j]) / (root / lr + 2 * l2);
            v[j] = fabsf(z[j]) > l1 ? shrunk : 0;
            a[j] = squares;
        }
    }
    return 0;
}
