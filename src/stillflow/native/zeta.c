/* The Hurwitz zeta function: src/stillflow/ops/math/native_kernels.py.

   A few terms of the sum of (q + k) ** -x, and Euler and Maclaurin's formula for the others, in double
   precision. Of whole x a power is a product; of others it takes logarithms and exponentials, here
   by series that a processor sums for several numbers at once. */
#include "native.h"

#include <math.h>

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
    int64_t whole;  /* x, where that is one whole number, else 0 */
    const float *x; /* or of each */
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

/* Added to a number it leaves a whole one, in the lowest bits too: a processor converts none to
   integers of this size. */
static const double WHOLE = 0x1.8p52;

INLINE uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

INLINE double of_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* log x for x > 0: a power of two, and the series of the area tangent for the rest, which lies
   between the roots of 1/2 and 2. */
INLINE double logarithm(double x) {
    const uint64_t root_of_half = 0x3FE6A09E667F3BCDu, bias = 1023;
    uint64_t bits = bits_of(x), exponent = (bits - root_of_half + (bias << 52)) >> 52;
    double turns = of_bits(exponent + bits_of(WHOLE)) - WHOLE - (double)bias;
    x = of_bits(bits - ((exponent - bias) << 52));
    double s = (x - 1) / (x + 1), square = s * s, sum = 1.0 / 15;
    sum = 1.0 / 13 + square * sum;
    sum = 1.0 / 11 + square * sum;
    sum = 1.0 / 9 + square * sum;
    sum = 1.0 / 7 + square * sum;
    sum = 1.0 / 5 + square * sum;
    sum = 1.0 / 3 + square * sum;
    return turns * 0x1.62e42fefa39efp-1 + 2 * (s + s * square * sum);
}

/* e ** x for -700 < x < 700: a power of two, and the series for the rest. */
INLINE double exponential(double x) {
    double whole = x * 0x1.71547652b82fep+0 + WHOLE, turns = whole - WHOLE;
    double r = x - turns * 0x1.62e42fefa39efp-1, sum = 1 + r * (1.0 / 11);
    sum = 1 + r * (1.0 / 10) * sum;
    sum = 1 + r * (1.0 / 9) * sum;
    sum = 1 + r * (1.0 / 8) * sum;
    sum = 1 + r * (1.0 / 7) * sum;
    sum = 1 + r * (1.0 / 6) * sum;
    sum = 1 + r * (1.0 / 5) * sum;
    sum = 1 + r * (1.0 / 4) * sum;
    sum = 1 + r * (1.0 / 3) * sum;
    sum = 1 + r * (1.0 / 2) * sum;
    sum = 1 + r * sum;
    return of_bits((bits_of(whole) + 1023) << 52) * sum;
}

INLINE void raise_any(const double *base, const double *exponent, double *power) {
    for (int i = 0; i < SOME; i++) power[i] = exponential(exponent[i] * logarithm(base[i]));
}

/* whole: all of x where that is a whole number, else 0. */
INLINE void sum_some(const double *x, const double *q, int64_t whole, double *sum) {
    double inverse[SOME], power[SOME], rising[SOME]; /* x (x + 1) ... (x + 2 j) */
    for (int i = 0; i < SOME; i++) sum[i] = 0;
    for (int term = 0; term <= TERMS; term++) {
        for (int i = 0; i < SOME; i++) inverse[i] = 1 / (q[i] + term);
        if (whole)
            raise(inverse, whole, power);
        else
            raise_any(inverse, x, power);
        for (int i = 0; term < TERMS && i < SOME; i++) sum[i] += power[i];
    }
    for (int i = 0; i < SOME; i++) sum[i] += power[i] * ((q[i] + TERMS) / (x[i] - 1) + 0.5);
    for (int i = 0; i < SOME; i++) rising[i] = x[i];
    for (int j = 0; j < ORDER; j++)
        for (int i = 0; i < SOME; i++) {
            power[i] *= inverse[i];
            sum[i] += rising[i] * BERNOULLI[j] * power[i];
            power[i] *= inverse[i];
            rising[i] *= (x[i] + 2 * j + 1) * (x[i] + 2 * j + 2);
        }
}

FOR_EACH_PROCESSOR static void take_part(void *data, int64_t part) {
    const Zeta *all = data;
    int64_t end = all->size < (part + 1) * PART ? all->size : (part + 1) * PART;
    double x[SOME], q[SOME], sum[SOME];
    for (int i = 0; i < SOME; i++) x[i] = all->whole ? (double)all->whole : 2, q[i] = 1;
    for (int64_t first = part * PART; first < end; first += SOME) {
        int64_t count = end - first < SOME ? end - first : SOME;
        for (int64_t i = 0; i < count; i++) q[i] = all->q[first + i];
        for (int64_t i = 0; all->x && i < count; i++) x[i] = all->x[first + i];
        if (all->whole)
            sum_some(x, q, all->whole, sum);
        else
            sum_some(x, q, 0, sum);
        for (int64_t i = 0; i < count; i++) all->out[first + i] = all->factor * (float)sum[i];
    }
}

static int are_between(const float *numbers, int64_t size, float low, float high) {
    int64_t wrong = 0;
    for (int64_t i = 0; i < size; i++) wrong += !(numbers[i] > low && numbers[i] <= high);
    return !wrong;
}

static const float LARGEST = 1e15f; /* q whose powers a double holds */

/* zeta(x, q) times a factor, for many q. Returns 1, and has written nothing, if one is not above 0.

   x: from 2 to 16. */
PUBLIC int64_t zeta_of_whole(int64_t x, const float *q, int64_t size, double factor, float *out,
                             int64_t threads) {
    if (!are_between(q, size, 0, INFINITY)) return 1;
    Zeta all = {x, NULL, q, out, size, (float)factor};
    in_parallel(take_part, &all, (size + PART - 1) / PART, threads);
    return 0;
}

/* zeta(x, q) for many x and as many q. Returns 1, and has written nothing, if an x is not between 1
   and 16 or a q is not above 1e-15, or so large that nothing is left of it. */
PUBLIC int64_t zeta_of_any(const float *x, const float *q, int64_t size, float *out,
                           int64_t threads) {
    if (!are_between(x, size, 1, 16) || !are_between(q, size, 1 / LARGEST, LARGEST)) return 1;
    Zeta all = {0, x, q, out, size, 1};
    in_parallel(take_part, &all, (size + PART - 1) / PART, threads);
    return 0;
}
