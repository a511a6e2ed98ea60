/* Functions of many numbers: src/stillflow/ops/math/element_loops.py.

   Square roots: the library that torch asks takes a detour for each zero, of which the slots of
   optimizers are full, and for what is not a number: thirteen times as long as the processor's own
   instruction, which is exact and makes no difference. Hyperbolic tangents: it takes six times as
   long as these, which differ from it in the last bit or two. */
#include "activations.h"
#include "native.h"

#include <math.h>

enum { PART = 1 << 15 }; /* numbers that one thread takes at a time */

typedef struct {
    const float *x;
    float *out;
    int64_t size;
} Numbers;

typedef void (*OfPart)(void *numbers, int64_t part);

#define OF_PART(name, function)                                                            \
    FOR_EACH_PROCESSOR static void name(void *data, int64_t part) {                        \
        const Numbers *all = data;                                                         \
        int64_t first = part * PART;                                                       \
        int64_t end = first + PART < all->size ? first + PART : all->size;                 \
        const float *x = all->x;                                                           \
        float *out = all->out;                                                             \
        for (int64_t i = first; i < end; i++) out[i] = function(x[i]);                     \
    }

OF_PART(square_roots_of_part, sqrtf)
OF_PART(tangents_of_part, hyperbolic_tangent)

static void of_all(OfPart function, const float *x, float *out, int64_t size, int64_t threads) {
    Numbers all = {x, out, size};
    in_parallel(function, &all, (size + PART - 1) / PART, threads);
}

/* `out` may be `x`, here and below. */
PUBLIC void square_roots(const float *x, float *out, int64_t size, int64_t threads) {
    of_all(square_roots_of_part, x, out, size, threads);
}

PUBLIC void hyperbolic_tangents(const float *x, float *out, int64_t size, int64_t threads) {
    of_all(tangents_of_part, x, out, size, threads);
}
