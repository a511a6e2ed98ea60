/* Dual coordinate ascent: src/stillflow/ops/sdca/ascent.py and losses.py, whose functions these
   follow. */
#include "philox.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { LOGISTIC, SQUARED, HINGE, SMOOTH_HINGE, POISSON }; /* losses */
enum { STEPS = 10 };                                      /* of Newton's method */

typedef struct {
    const int64_t *starts, *places;
    const float *values, *weights;
    float *deltas;
} Sparse;

typedef struct {
    const float *rows, *weights;
    float *deltas;
    int64_t width;
} Dense;

typedef struct {
    const Sparse *sparse;
    const Dense *dense;
    int64_t sparse_columns, dense_columns;
    const float *labels, *example_weights;
    const double *norms;
    double shrinkage, l2;
    int64_t partitions, loss;
} Problem;

typedef struct {
    double label, dual, wx, curvature;
} Place;

/* ---- losses */

static double hinge_update(const Place *at, double smoothness) {
    double candidate = at->dual + (at->label - at->wx - smoothness * at->dual) /
                                      (at->curvature + smoothness);
    if (at->label * candidate < 0) return 0;
    return at->label * candidate > 1 ? at->label : candidate;
}

static double logistic_update(const Place *at) {
    double x = 0;
    for (int i = 0; i < STEPS; i++) {
        double t = tanh(x);
        double numerator = -2 * at->label * x - at->wx -
                           at->curvature * (0.5 * (1 + t) / at->label - at->dual);
        double slope = -2 * at->label - at->curvature * (1 - t * t) * 0.5 / at->label;
        x -= numerator / slope;
    }
    return 0.5 * (1 + tanh(x)) / at->label;
}

static double poisson_update(const Place *at) {
    double rest = at->label - at->dual, x = rest > 0 ? log(rest) : 0;
    for (int i = 0; i < STEPS; i++) {
        double e = exp(x);
        x -= (x - at->wx - at->curvature * (rest - e)) / (1 + at->curvature * e);
    }
    return at->label - exp(x);
}

static double updated_dual(int64_t loss, const Place *at) {
    switch (loss) {
    case LOGISTIC: return logistic_update(at);
    case SQUARED: return at->dual + (at->label - at->dual - at->wx) / (1 + at->curvature);
    case POISSON: return poisson_update(at);
    default: return hinge_update(at, loss == SMOOTH_HINGE);
    }
}

static double primal_loss(int64_t loss, double wx, double label) {
    double margin = label * wx, missing = 1 - margin;
    switch (loss) {
    case LOGISTIC: return margin > 0 ? log1p(exp(-margin)) : log1p(exp(margin)) - margin;
    case SQUARED: return 0.5 * (wx - label) * (wx - label);
    case HINGE: return missing > 0 ? missing : 0;
    case SMOOTH_HINGE:
        if (missing <= 0) return 0;
        return missing >= 1 ? missing - 0.5 : 0.5 * missing * missing;
    default: return exp(wx) - wx * label;
    }
}

static double times_log(double share) { return share > 0 ? share * log(share) : 0; }

static double dual_loss(int64_t loss, double dual, double label) {
    double share = dual * label, rest = label - dual;
    switch (loss) {
    case LOGISTIC: return times_log(share) + times_log(1 - share);
    case SQUARED: return dual * (0.5 * dual - label);
    case POISSON:
        if (rest == 0) return 0;
        return rest < 0 ? DBL_MAX : rest * (log(rest) - 1);
    default:
        if (share < 0 || share > 1) return DBL_MAX;
        return -share + 0.5 * (loss == SMOOTH_HINGE) * dual * dual;
    }
}

/* ---- examples */

static inline double shrunk(double weight, double by) {
    double left = fabs(weight) - by;
    return left > 0 ? copysign(left, weight) : 0;
}

static inline float shrunk_float(float weight, float by) {
    float left = fabsf(weight) - by;
    return left > 0 ? copysignf(left, weight) : 0;
}

/* What the model predicts of an example, with what the step has learnt and without. */
static double predict(const Problem *all, int64_t example, double *before) {
    double wx = 0;
    float partitions = (float)all->partitions, by = (float)all->shrinkage;
    *before = 0;
    for (int64_t c = 0; c < all->sparse_columns; c++) {
        const Sparse *column = all->sparse + c;
        for (int64_t k = column->starts[example]; k < column->starts[example + 1]; k++) {
            float weight = column->weights[column->places[k]];
            float moved = weight + column->deltas[column->places[k]] * partitions;
            *before += column->values[k] * shrunk(weight, all->shrinkage);
            wx += column->values[k] * shrunk(moved, all->shrinkage);
        }
    }
    for (int64_t c = 0; c < all->dense_columns; c++) {
        const Dense *column = all->dense + c;
        const float *row = column->rows + example * column->width;
        float sum = 0, sum_before = 0;
        for (int64_t j = 0; j < column->width; j++) {
            float moved = column->weights[j] + column->deltas[j] * partitions;
            sum_before += row[j] * shrunk_float(column->weights[j], by);
            sum += row[j] * shrunk_float(moved, by);
        }
        *before += sum_before;
        wx += sum;
    }
    return wx;
}

/* Adds an example's features, times a number, to the deltas. */
static void move(const Problem *all, int64_t example, double step) {
    for (int64_t c = 0; c < all->sparse_columns; c++) {
        const Sparse *column = all->sparse + c;
        for (int64_t k = column->starts[example]; k < column->starts[example + 1]; k++) {
            float *delta = column->deltas + column->places[k];
            *delta = (float)(*delta + column->values[k] * step);
        }
    }
    for (int64_t c = 0; c < all->dense_columns; c++) {
        const Dense *column = all->dense + c;
        const float *row = column->rows + example * column->width;
        for (int64_t j = 0; j < column->width; j++) column->deltas[j] += row[j] * (float)step;
    }
}

/* Trains on `count` examples one after the other.

   order: their numbers.
   state: four numbers for each example: dual variable, primal and dual loss, weight. */
PUBLIC void ascend(const Problem *all, const int64_t *order, int64_t count, float *state) {
    for (int64_t i = 0; i < count; i++) {
        int64_t example = order[i];
        float *row = state + 4 * example;
        double before, weight = all->example_weights[example];
        Place at = {all->labels[example], row[0], predict(all, example, &before), 0};
        at.curvature = (double)all->partitions * weight * (all->norms[example] / all->l2);
        double updated = updated_dual(all->loss, &at), lower = dual_loss(all->loss, at.dual, at.label);
        move(all, example, (updated - at.dual) * weight / all->l2);
        row[0] = (float)updated;
        row[1] = (float)(primal_loss(all->loss, before, at.label) * weight);
        row[2] = (float)(lower == DBL_MAX ? lower : lower * weight);
        row[3] = (float)weight;
    }
}

/* What the model predicts of each of `count` examples. */
PUBLIC void predict_examples(const Problem *all, int64_t count, double *out) {
    double before;
    for (int64_t i = 0; i < count; i++) out[i] = predict(all, i, &before);
}

/* ---- the order of examples */

/* Walker's table, of shares whose mean is one: number i stands for itself below shares[i]. */
static void make_alias_table(double *shares, int64_t *others, int64_t count, int64_t *stack) {
    int64_t low = 0, high = count; /* both grow towards each other */
    for (int64_t i = 0; i < count; i++) {
        others[i] = i;
        stack[shares[i] < 1 ? low++ : --high] = i;
    }
    while (low && high < count) {
        int64_t small = stack[--low], large = stack[high++];
        others[small] = large;
        shares[large] -= 1 - shares[small];
        stack[shares[large] < 1 ? low++ : --high] = large;
    }
    while (low) shares[stack[--low]] = 1;
    while (high < count) shares[stack[high++]] = 1;
}

/* Draws as many examples as there are, by weights; one that was drawn before is mostly passed over.

   decay: how much rarer an example becomes each time that it is drawn.
   order: the numbers; of those that are not drawn, after `count` in vain, zeros.
   Returns 0, or -1 without memory. */
PUBLIC int64_t draw_examples(int64_t key, int64_t low, int64_t high, const float *weights,
                             int64_t count, double decay, int64_t *order) {
    Stream stream = {(uint64_t)key, (uint64_t)low, (uint64_t)high};
    double *shares = malloc((size_t)count * 2 * sizeof *shares), total = 0;
    int64_t *others = malloc((size_t)count * 2 * sizeof *others);
    if (!shares || !others) {
        free(shares), free(others);
        return -1;
    }
    double *chances = shares + count;
    for (int64_t i = 0; i < count; i++) total += weights[i], chances[i] = 1;
    for (int64_t i = 0; i < count; i++) shares[i] = weights[i] * (float)count / total;
    make_alias_table(shares, others, count, others + count);
    int64_t taken = 0;
    for (int64_t vain = 0; taken < count && vain < count;) {
        uint32_t words[PER_BLOCK];
        fill_block(&stream, (uint64_t)(taken + vain), words);
        double share = unit_double(words[0], words[1]), chance = words[3] * 0x1p-32;
        int64_t number = (int64_t)((uint64_t)words[2] * (uint64_t)count >> 32);
        if (!(share < shares[number])) number = others[number];
        if (chance > chances[number]) {
            vain++;
            continue;
        }
        chances[number] *= decay;
        order[taken++] = number;
    }
    for (; taken < count; taken++) order[taken] = 0;
    free(shares), free(others);
    return 0;
}
