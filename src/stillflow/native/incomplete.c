/* Series and continued fractions of incomplete functions: src/stillflow/ops/math/native_kernels.py.

   A processor takes several numbers at once, each until it has converged; what converges first is
   kept when it has. The operations are those of incomplete_gamma.py and incomplete_beta.py, which
   say where the formulas come from, in their order. */
#include "native.h"

#include <math.h>

enum {
    LANES = 32,         /* numbers taken together */
    PART = 1 << 9,      /* numbers that one thread takes at a time */
    BETWEEN_CHECKS = 8, /* terms */
    MOST_TERMS = 5000
};

static const double EPSILON = 0x1p-53, LARGE = 0x1p52, SMALL = 0x1p-52, TINY = 1e-300;

typedef struct {
    const double *a, *b, *x;
    double *value, *slope;
    int64_t size;
} Numbers;

#define INLINE static inline __attribute__((always_inline))
#define EACH (int i = 0; i < LANES; i++)
typedef double Lanes[LANES];

INLINE void load(const double *from, int64_t count, Lanes to) {
    for EACH to[i] = i < count ? from[i] : 1;
}

/* Keeps what has converged since the last time; returns how many numbers go on. */
INLINE int64_t keep(const int64_t going[LANES], int64_t waiting[LANES], int64_t count,
                    const double *found, double *out) {
    int64_t left = 0;
    for (int64_t i = 0; i < count; i++) {
        if (waiting[i] && !going[i]) out[i] = found[i];
        left += waiting[i] && going[i];
    }
    return left;
}

INLINE void settle(const int64_t going[LANES], int64_t waiting[LANES]) {
    for EACH waiting[i] = waiting[i] && going[i];
}

/* ---- the incomplete gamma function */

INLINE void sum_series(const Numbers *all, int64_t first, int64_t count) {
    Lanes a, x, term, total, slope, total_slope;
    int64_t waiting[LANES], going[LANES];
    load(all->a + first, count, a), load(all->x + first, count, x);
    for EACH term[i] = total[i] = 1, slope[i] = total_slope[i] = 0, waiting[i] = 1;
    for (int n = 1; n <= MOST_TERMS; n++) {
        for EACH {
            double divisor = a[i] + n, ratio = x[i] / divisor;
            slope[i] = ratio * (slope[i] - term[i] / divisor);
            term[i] = term[i] * ratio;
            total_slope[i] = total_slope[i] + slope[i];
            total[i] = total[i] + term[i];
        }
        if (n % BETWEEN_CHECKS && n < MOST_TERMS) continue;
        for EACH going[i] =
            n < MOST_TERMS && fabs(slope[i]) > EPSILON * fabs(total_slope[i]);
        keep(going, waiting, count, total, all->value + first);
        int64_t left = keep(going, waiting, count, total_slope, all->slope + first);
        settle(going, waiting);
        if (!left) return;
    }
}

INLINE void find_fraction(const Numbers *all, int64_t first, int64_t count) {
    Lanes x, y, z, p0, q0, p1, q1, dp0, dq0, dp1, dq1, value, slope, moved, noise;
    int64_t waiting[LANES], going[LANES];
    load(all->a + first, count, y), load(all->x + first, count, x);
    for EACH {
        z[i] = x[i] + 2 - y[i], y[i] = 1 - y[i];
        p0[i] = 1, q0[i] = x[i], p1[i] = x[i] + 1, q1[i] = z[i] * x[i];
        dp0[i] = dq0[i] = dp1[i] = 0, dq1[i] = -x[i];
        value[i] = p1[i] / q1[i], slope[i] = (dp1[i] - value[i] * dq1[i]) / q1[i];
        waiting[i] = 1;
    }
    for (int n = 1; n <= MOST_TERMS; n++) {
        for EACH {
            y[i] = y[i] + 1, z[i] = z[i] + 2;
            double share = y[i] * n, before = slope[i];
            double p = p1[i] * z[i] - p0[i] * share, q = q1[i] * z[i] - q0[i] * share;
            double dp = dp1[i] * z[i] - p1[i] - dp0[i] * share + p0[i] * n;
            double dq = dq1[i] * z[i] - q1[i] - dq0[i] * share + q0[i] * n;
            value[i] = p / q;
            double pull = value[i] * dq;
            slope[i] = (dp - pull) / q;
            moved[i] = fabs(slope[i] - before), noise[i] = fabs(pull / q);
            double scale = fabs(p) > LARGE ? SMALL : 1;
            p0[i] = p1[i] * scale, q0[i] = q1[i] * scale, p1[i] = p * scale, q1[i] = q * scale;
            dp0[i] = dp1[i] * scale, dq0[i] = dq1[i] * scale;
            dp1[i] = dp * scale, dq1[i] = dq * scale;
        }
        if (n % BETWEEN_CHECKS && n < MOST_TERMS) continue;
        for EACH going[i] =
            n < MOST_TERMS && moved[i] > 4 * EPSILON * (fabs(slope[i]) + noise[i]);
        keep(going, waiting, count, value, all->value + first);
        int64_t left = keep(going, waiting, count, slope, all->slope + first);
        settle(going, waiting);
        if (!left) return;
    }
}

/* ---- the incomplete beta function */

INLINE double not_zero(double value) { return fabs(value) < TINY ? TINY : value; }

INLINE void find_beta(const Numbers *all, int64_t first, int64_t count) {
    Lanes a, b, x, c, d, result, step;
    int64_t waiting[LANES], going[LANES];
    load(all->a + first, count, a), load(all->b + first, count, b);
    load(all->x + first, count, x);
    for EACH {
        d[i] = 1 / not_zero(1 - (a[i] + b[i]) * x[i] / (a[i] + 1));
        c[i] = 1, result[i] = d[i], waiting[i] = 1;
    }
    for (int m = 1; m <= MOST_TERMS; m++) {
        for EACH {
            double twice = a[i] + 2 * m;
            double even = m * (b[i] - m) * x[i] / ((twice - 1) * twice);
            d[i] = 1 / not_zero(1 + even * d[i]);
            c[i] = not_zero(1 + even / c[i]);
            result[i] = result[i] * d[i] * c[i];
            double odd = -(a[i] + m) * (a[i] + b[i] + m) * x[i] / (twice * (twice + 1));
            d[i] = 1 / not_zero(1 + odd * d[i]);
            c[i] = not_zero(1 + odd / c[i]);
            step[i] = d[i] * c[i];
            result[i] = result[i] * step[i];
        }
        if (m % BETWEEN_CHECKS && m < MOST_TERMS) continue;
        for EACH going[i] = m < MOST_TERMS && fabs(step[i] - 1) > 4 * EPSILON;
        int64_t left = keep(going, waiting, count, result, all->value + first);
        settle(going, waiting);
        if (!left) return;
    }
}

/* ---- many numbers */

#define IN_PARTS(name, find)                                                                \
    FOR_EACH_PROCESSOR static void name(void *data, int64_t part) {                         \
        const Numbers *all = data;                                                          \
        int64_t end = all->size < (part + 1) * PART ? all->size : (part + 1) * PART;        \
        for (int64_t first = part * PART; first < end; first += LANES)                      \
            find(all, first, end - first < LANES ? end - first : LANES);                    \
    }

IN_PARTS(take_series, sum_series)
IN_PARTS(take_fractions, find_fraction)
IN_PARTS(take_betas, find_beta)

static void take(Work work, Numbers all, int64_t threads) {
    in_parallel(work, &all, (all.size + PART - 1) / PART, threads);
}

/* The sums of the series of the lower incomplete gamma function, and their derivatives by a. */
PUBLIC void gamma_series(const double *a, const double *x, int64_t size, double *value,
                         double *slope, int64_t threads) {
    take(take_series, (Numbers){a, NULL, x, value, slope, size}, threads);
}

/* The continued fractions of the upper incomplete gamma function, and their derivatives by a. */
PUBLIC void gamma_fractions(const double *a, const double *x, int64_t size, double *value,
                            double *slope, int64_t threads) {
    take(take_fractions, (Numbers){a, NULL, x, value, slope, size}, threads);
}

/* The continued fractions of the incomplete beta function. */
PUBLIC void beta_fractions(const double *a, const double *b, const double *x, int64_t size,
                           double *value, int64_t threads) {
    take(take_betas, (Numbers){a, b, x, value, NULL, size}, threads);
}
