/* Optimizers' rules for the rows that have gradients: src/stillflow/ops/training/rows.py.

   A row that is named twice is updated twice, one after the other. Every function looks at all
   indices first, and returns 1, having changed nothing, if one is out of range. */
#include "native.h"
#include "rules.h"

/* What every rule takes: rows of `width` numbers for each index. */
typedef struct {
    const float *grad;
    const void *indices; /* int32 if `bytes` is 4, else int64 */
    int64_t bytes, number, width, rows;
} Gradients;

typedef struct {
    Gradients rows;
    float *var, *accum;
} Update;

static inline int64_t row_of(const Gradients *all, int64_t i) {
    return all->bytes == 4 ? ((const int32_t *)all->indices)[i]
                           : ((const int64_t *)all->indices)[i];
}

static int are_inside(const Gradients *all) {
    for (int64_t i = 0; i < all->number; i++)
        if (row_of(all, i) < 0 || row_of(all, i) >= all->rows) return 0;
    return 1;
}

PUBLIC int64_t adagrad_rows(const Gradients *all, float *var, float *accum, double rate,
                            int64_t update_slots) {
    if (!are_inside(all)) return 1;
    float lr = (float)rate;
    for (int64_t i = 0; i < all->number; i++) {
        const float *grad = all->grad + i * all->width;
        float *v = var + row_of(all, i) * all->width, *a = accum + row_of(all, i) * all->width;
        for (int64_t j = 0; j < all->width; j++) {
            if (update_slots)
                adagrad(v + j, a + j, grad[j], lr);
            else
                v[j] -= lr * (grad[j] / sqrtf(a[j]));
        }
    }
    return 0;
}

/* The same for several variables; returns how many come before one with a wrong index. */
PUBLIC int64_t adagrad_rows_of_many(const Update *updates, int64_t count, double rate,
                                    int64_t update_slots) {
    for (int64_t i = 0; i < count; i++)
        if (adagrad_rows(&updates[i].rows, updates[i].var, updates[i].accum, rate, update_slots))
            return i;
    return count;
}

PUBLIC int64_t ftrl_rows(const Gradients *all, float *var, float *accum, float *linear, double rate,
                         double first_penalty, double second_penalty) {
    if (!are_inside(all)) return 1;
    float lr = (float)rate, l1 = (float)first_penalty, l2 = (float)second_penalty;
    for (int64_t i = 0; i < all->number; i++) {
        const float *grad = all->grad + i * all->width;
        int64_t first = row_of(all, i) * all->width;
        float *v = var + first, *a = accum + first, *z = linear + first;
        for (int64_t j = 0; j < all->width; j++) ftrl(v + j, a + j, z + j, grad[j], lr, l1, l2, 0);
    }
    return 0;
}
