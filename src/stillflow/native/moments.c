/* Counts and moments of numbers: src/stillflow/ops/debug/summaries.py. */
#include "native.h"

#include <math.h>

enum { NANS, LOW, NEGATIVE, ZERO, POSITIVE, HIGH, LEAST, MOST, MEAN, VARIANCE };

/* Sums are those of one number after the other, as they are in TensorFlow. */
#define SUMMARIZE(type)                                                              \
    {                                                                                \
        const type *numbers = given;                                                 \
        double sum = 0, squares = 0;                                                 \
        int64_t finite = 0;                                                          \
        for (int64_t i = 0; i < count; i++) {                                        \
            double x = numbers[i];                                                   \
            int is_low = x <= lower, is_high = x >= upper;                           \
            int is_between = !(is_low | is_high);                                    \
            counts[NANS] += x != x, counts[LOW] += is_low, counts[HIGH] += is_high;  \
            counts[NEGATIVE] += is_between & (x < 0);                                \
            counts[ZERO] += is_between & (x == 0);                                   \
            counts[POSITIVE] += is_between & (x > 0);                                \
            if (!isfinite(x)) continue;                                              \
            finite++;                                                                \
            sum += x;                                                                \
            out[LEAST] = x < out[LEAST] ? x : out[LEAST];                            \
            out[MOST] = x > out[MOST] ? x : out[MOST];                               \
        }                                                                            \
        if (finite == 0) return;                                                     \
        double mean = sum / (double)finite;                                          \
        for (int64_t i = 0; i < count; i++) {                                        \
            double x = numbers[i];                                                   \
            if (isfinite(x)) squares += (x - mean) * (x - mean);                     \
        }                                                                            \
        out[MEAN] = mean, out[VARIANCE] = squares / (double)finite;                  \
    }

static void summarize(const void *given, int64_t is_double, int64_t count, double lower,
                      double upper, int64_t *counts, double *out) {
    if (is_double) SUMMARIZE(double) else SUMMARIZE(float)
}

/* How many floats or doubles are no numbers, at or below `lower`, negative, zero, positive, and at
   or above `upper`; least, largest, mean and variance of the finite ones. */
PUBLIC void summarize_numbers(const void *given, int64_t is_double, int64_t count, double lower,
                              double upper, double *out) {
    int64_t counts[LEAST] = {0};
    out[LEAST] = INFINITY, out[MOST] = -INFINITY, out[MEAN] = out[VARIANCE] = NAN;
    summarize(given, is_double, count, lower, upper, counts, out);
    for (int i = 0; i < LEAST; i++) out[i] = (double)counts[i];
}
