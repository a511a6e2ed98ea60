/* Draws from gamma and Poisson distributions: src/stillflow/ops/random/native_kernels.py.

   The same numbers as those of gamma.py and poisson.py, which say whose methods these are. Every
   output has blocks of its own, whose second numbers are used first. */
#include "philox.h"

#include <math.h>

enum { PART = 1 << 12 }; /* outputs that one thread takes at a time */

typedef struct {
    Stream stream;
    const double *parameters; /* of each distribution */
    int64_t distributions, samples;
    double largest; /* of the values that there is room for */
    double *out;    /* [samples, distributions] */
} Outputs;

/* Outputs of one distribution follow each other. */
static inline double *place_of(const Outputs *all, int64_t output) {
    return all->out + output % all->samples * all->distributions + output / all->samples;
}

static inline double parameter_of(const Outputs *all, int64_t output) {
    return all->parameters[output / all->samples];
}

typedef uint32_t Words[PER_BLOCK][BATCH];

static inline double first_unit(Words words, int i) { return unit_double(words[0][i], words[1][i]); }
static inline double second_unit(Words words, int i) { return unit_double(words[2][i], words[3][i]); }

/* ---- numbers of one output, two of which a block gives */

typedef struct {
    const Stream *stream;
    uint64_t next, known; /* blocks: that after the last one, and the one that is in `units` */
    double normals[2], units[2];
    int normals_left, units_left;
} Numbers;

static void take_block(Numbers *from, double units[2]) {
    uint32_t words[PER_BLOCK];
    fill_block(from->stream, from->next++, words);
    units[0] = unit_double(words[0], words[1]), units[1] = unit_double(words[2], words[3]);
}

static double next_unit(Numbers *from) {
    if (!from->units_left) {
        if (from->next == from->known)
            from->next++;
        else
            take_block(from, from->units);
        from->units_left = 2;
    }
    return from->units[--from->units_left];
}

/* A point of the plane whose coordinates are standard normals. */
static double next_normal(Numbers *from) {
    if (!from->normals_left) {
        double units[2];
        take_block(from, units);
        from->normals[0] = sqrt(log(units[0] > 1e-7 ? units[0] : 1e-7) * -2.0);
        from->normals[1] = units[1] * 6.283185307179586;
        from->normals_left = 2;
    }
    double angle = from->normals[1];
    return from->normals[0] * (--from->normals_left ? cos(angle) : sin(angle));
}

/* ---- gamma distributions */

typedef struct {
    double c, d, inverse; /* of the shape, for shapes below one */
} Shape;

static Shape shape_of(double alpha) {
    double d = alpha + (alpha < 1 ? 2.0 / 3 : -1.0 / 3);
    return (Shape){1.0 / 3 / sqrt(d), d, alpha < 1 ? 1 / alpha : 0};
}

/* A draw, with the numbers that are left. */
static double draw_gamma(Numbers *from, Shape shape) {
    for (;;) {
        double x = next_normal(from), v = 1.0 + shape.c * x;
        if (v <= 0) continue;
        v = v * v * v;
        double u = next_unit(from), square = x * x;
        if (u < 1 - 0.0331 * square * square ||
            log(u) < 0.5 * square + shape.d * (1 - v + log(v))) {
            double result = shape.d * v;
            return shape.inverse ? result * pow(next_unit(from), shape.inverse) : result;
        }
    }
}

/* The first two blocks of an output are made together with those of others. */
FOR_EACH_PROCESSOR static void draw_gamma_part(void *data, int64_t part) {
    const Outputs *all = data;
    int64_t total = all->distributions * all->samples;
    int64_t end = total < (part + 1) * PART ? total : (part + 1) * PART;
    double alpha = 0;
    Shape shape = {0, 0, 0};
    int64_t known = -1;
    for (int64_t first = part * PART; first < end; first += BATCH) {
        uint64_t places[BATCH];
        Words polar, uniform;
        for (int i = 0; i < BATCH; i++) places[i] = (uint64_t)(first + i) * RESERVED;
        fill_batch(&all->stream, places, polar);
        for (int i = 0; i < BATCH; i++) places[i]++;
        fill_batch(&all->stream, places, uniform);
        for (int i = 0; i < BATCH && first + i < end; i++) {
            int64_t output = first + i;
            if (output / all->samples != known) {
                known = output / all->samples, alpha = all->parameters[known];
                shape = shape_of(alpha);
            }
            double first_polar = first_unit(polar, i), angle = second_unit(polar, i);
            if (alpha == 1) {
                *place_of(all, output) = -log(1.0 - angle);
                continue;
            }
            double radius = sqrt(log(first_polar > 1e-7 ? first_polar : 1e-7) * -2.0);
            angle *= 6.283185307179586;
            Numbers from = {&all->stream, places[i], places[i], {radius, angle},
                            {first_unit(uniform, i), second_unit(uniform, i)}, 2, 0};
            *place_of(all, output) = draw_gamma(&from, shape);
        }
    }
}

/* ---- Poisson distributions */

/* Knuth's method, for outputs side by side: how many factors take a product to exp(-rate). */
static inline void count_factors(const Outputs *all, int64_t first, int64_t count,
                                 const int64_t *outputs) {
    double product[BATCH], bound[BATCH], counted[BATCH];
    int32_t pending[BATCH];
    for (int32_t i = 0; i < count; i++) {
        product[i] = 1, counted[i] = 0, pending[i] = i;
        bound[i] = exp(-parameter_of(all, first + outputs[i]));
    }
    int64_t left = count;
    for (uint64_t round = 0; left; round++) {
        uint64_t places[BATCH];
        Words words;
        for (int i = 0; i < BATCH; i++) {
            int64_t output = outputs[pending[i < left ? i : 0]];
            places[i] = (uint64_t)(first + output) * RESERVED + round;
        }
        fill_batch(&all->stream, places, words);
        int64_t again = 0;
        for (int i = 0; i < left; i++) {
            int32_t at = pending[i];
            product[at] *= second_unit(words, i);
            if (product[at] > bound[at]) {
                counted[at]++;
                product[at] *= first_unit(words, i);
                if (product[at] > bound[at]) {
                    counted[at]++;
                    pending[again++] = at;
                    continue;
                }
            }
            *place_of(all, first + outputs[at]) = counted[at];
        }
        left = again;
    }
}

typedef struct {
    double rate, log_rate, a, b, inverse_alpha;
} Rate;

static Rate rate_of(double rate) {
    double b = 0.931 + 2.53 * sqrt(rate), a = -0.059 + 0.02483 * b;
    return (Rate){rate, log(rate), a, b, 1.1239 + 1.1328 / (b - 3.4)};
}

static double reject(const Outputs *all, int64_t output, const Rate *of) {
    uint64_t place = (uint64_t)output * RESERVED;
    Numbers from = {&all->stream, place, place - 1, {0, 0}, {0, 0}, 0, 0};
    for (;;) {
        double u = next_unit(&from) - 0.5, v = next_unit(&from), shifted = 0.5 - fabs(u);
        double k = floor((2 * of->a / shifted + of->b) * u + of->rate + 0.43);
        if (!(k <= all->largest)) continue;
        if (shifted >= 0.07 && v <= 0.9277 - 3.6224 / (of->b - 2)) return k;
        if (k < 0 || (shifted < 0.013 && v > shifted)) continue;
        double s = log(v * of->inverse_alpha / (of->a / (shifted * shifted) + of->b));
        if (s <= -of->rate + k * of->log_rate - lgamma(k + 1)) return k;
    }
}

FOR_EACH_PROCESSOR static void draw_poisson_part(void *data, int64_t part) {
    const Outputs *all = data;
    int64_t total = all->distributions * all->samples;
    int64_t end = total < (part + 1) * PART ? total : (part + 1) * PART, known = -1;
    Rate rate = {0, 0, 0, 0, 0};
    for (int64_t first = part * PART; first < end; first += BATCH) {
        int64_t small[BATCH], count = 0;
        for (int i = 0; i < BATCH && first + i < end; i++) {
            int64_t output = first + i;
            double given = parameter_of(all, output);
            if (!isfinite(given)) {
                *place_of(all, output) = NAN;
            } else if (given < 10) {
                small[count++] = i;
            } else {
                if (output / all->samples != known) {
                    known = output / all->samples;
                    rate = rate_of(given);
                }
                *place_of(all, output) = reject(all, output, &rate);
            }
        }
        if (count) count_factors(all, first, count, small);
    }
}

/* ---- many outputs */

static void draw(Work work, int64_t key, int64_t low, int64_t high, const double *parameters,
                 int64_t distributions, int64_t samples, double largest, double *out,
                 int64_t threads) {
    Outputs all = {{(uint64_t)key, (uint64_t)low, (uint64_t)high}, parameters, distributions,
                   samples, largest, out};
    in_parallel(work, &all, (distributions * samples + PART - 1) / PART, threads);
}

/* Draws from gamma distributions of some shapes.

   key, low, high: the position in a stream: the key, and the counter's lower and upper half.
   samples: how many draws of each.
   out: receives them, all first draws first. */
PUBLIC void draw_gammas(int64_t key, int64_t low, int64_t high, const double *shapes,
                        int64_t distributions, int64_t samples, double *out, int64_t threads) {
    draw(draw_gamma_part, key, low, high, shapes, distributions, samples, 0, out, threads);
}

/* The same from Poisson distributions of some rates; not a number where a rate is not finite.

   largest: what a draw may be at most; others are drawn again. */
PUBLIC void draw_poissons(int64_t key, int64_t low, int64_t high, const double *rates,
                          int64_t distributions, int64_t samples, double largest, double *out,
                          int64_t threads) {
    draw(draw_poisson_part, key, low, high, rates, distributions, samples, largest, out, threads);
}
