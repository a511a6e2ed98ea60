/* The Hurwitz zeta function: src/stillflow/ops/math/zeta_loops.py.

   A few terms of the sum of (q + k) ** -x, and Euler and Maclaurin's formula for the others, in double
   precision. Of whole x a power is a product, which a processor makes for several numbers at
   once; the function that torch calls makes it for one, of any x. */
#include "native.h"

enum {
    PART = 1 << 12, /* numbers that one thread takes at a time */
    SOME = 64,      /* numbers taken together */
    TERMS = 9,
    ORDER = 6 /* how many of Bernoulli's numbers the formula takes */
};

/* Bernoulli's numbers B2, B4, ..., each divided by the factorial of its place. */
static const double BERNOULLI[ORDER] = {1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600,
                                        1.0 / 47900160, -691.0 / 1307674368000.0};

typedef struct {
    int64_t x;
    const float *q;
    float *out;
    int64_t size;
    float factor;
} Zeta;

#define INLINE static inline __attribute__((always_inline))

INLINE void raise(const double *base, int64_t exponent, double *power) {
    for (int i = 0; i < SOME; i++) power[i] = base[i];
    for (int64_t e = 1; e < exponent; e++)
        for (int i = 0; i < SOME; i++) power[i] *= base[i];
}

INLINE void sum_some(const double *q, int64_t x, double *sum) {
    double inverse[SOME], power[SOME];
    for (int i = 0; i < SOME; i++) sum[i] = 0;
    for (int term = 0; term < TERMS; term++) {
        for (int i = 0; i < SOME; i++) inverse[i] = 1 / (q[i] + term);
        raise(inverse, x, power);
        for (int i = 0; i < SOME; i++) sum[i] += power[i];
    }
    for (int i = 0; i < SOME; i++) inverse[i] = 1 / (q[i] + TERMS);
    raise(inverse, x, power);
    double share = 1.0 / (double)(x - 1);
    for (int i = 0; i < SOME; i++) sum[i] += power[i] * ((q[i] + TERMS) * share + 0.5);
    double rising = (double)x; /* x (x + 1) ... (x + 2 j) */
    for (int j = 0; j < ORDER; j++) {
        double weight = rising * BERNOULLI[j];
        for (int i = 0; i < SOME; i++) {
            power[i] *= inverse[i];
            sum[i] += weight * power[i];
            power[i] *= inverse[i];
        }
        rising *= (double)(x + 2 * j + 1) * (double)(x + 2 * j + 2);
    }
}

FOR_EACH_PROCESSOR static void take_part(void *data, int64_t part) {
    const Zeta *all = data;
    int64_t end = all->size < (part + 1) * PART ? all->size : (part + 1) * PART;
    double q[SOME], sum[SOME];
    for (int i = 0; i < SOME; i++) q[i] = 1;
    for (int64_t first = part * PART; first < end; first += SOME) {
        int64_t count = end - first < SOME ? end - first : SOME;
        for (int64_t i = 0; i < count; i++) q[i] = all->q[first + i];
        sum_some(q, all->x, sum);
        for (int64_t i = 0; i < count; i++) all->out[first + i] = all->factor * (float)sum[i];
    }
}

/* zeta(x, q) times a factor, for many q. Returns 1, and has written nothing, if one is not above 0.

   x: from 2 to 16. */
PUBLIC int64_t zeta_of_whole(int64_t x, const float *q, int64_t size, double factor, float *out,
                             int64_t threads) {
    int64_t wrong = 0;
    for (int64_t i = 0; i < size; i++) wrong += !(q[i] > 0);
    if (wrong) return 1;
    Zeta all = {x, q, out, size, (float)factor};
    in_parallel(take_part, &all, (size + PART - 1) / PART, threads);
    return 0;
}
