/* Square roots of many numbers: src/stillflow/ops/math/roots.py.

   The library that torch asks takes a detour for each zero, of which the slots of optimizers are
   full, and for what is not a number: thirteen times as long as the processor's own instruction,
   which is exact and makes no difference. */
#include "native.h"

#include <math.h>

enum { PART = 1 << 15 }; /* numbers that one thread takes at a time */

typedef struct {
    const float *x;
    float *out;
    int64_t size;
} Roots;

FOR_EACH_PROCESSOR
static void take_part(void *data, int64_t part) {
    const Roots *all = data;
    int64_t first = part * PART, end = first + PART < all->size ? first + PART : all->size;
    const float *x = all->x;
    float *out = all->out;
    for (int64_t i = first; i < end; i++) out[i] = sqrtf(x[i]);
}

/* out: may be `x`. */
PUBLIC void square_roots(const float *x, float *out, int64_t size, int64_t threads) {
    Roots all = {x, out, size};
    in_parallel(take_part, &all, (size + PART - 1) / PART, threads);
}
