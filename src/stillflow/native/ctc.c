/* Losses of connectionist temporal classification and their gradients:
   src/stillflow/ops/recurrent/native_kernels.py.

   The sums are those of ctc_lattice.py, which says what they are, in logarithms and in double
   precision; each sequence is one thread's. A state is a label or a blank beside one. */
#include "native.h"

#include <math.h>
#include <stdlib.h>

/* recurrent/native_kernels.py fills it. */
typedef struct {
    int64_t time, batch, classes;
    const int64_t *lengths; /* steps of each sequence; nothing is written for one without */
    const int64_t *labels;  /* of all sequences, one after the other */
    const int64_t *ends;    /* where the first one's begin, and where each one's end */
    int64_t merge;          /* whether a label that stays counts once */
} Sequences;

typedef struct {
    const Sequences *all;
    const float *logits; /* [time, batch, classes] */
    float *losses, *gradient;
    int64_t failed; /* whether there was no memory */
} Loss;

/* One sequence. */
typedef struct {
    int64_t steps, classes, width;
    const int64_t *labels;
    int merge;
    double *log_y; /* [steps, classes] */
    double *alpha; /* [steps, width] */
    double *beta;  /* [width] */
    double *after; /* [width] */
    double *y;     /* [classes] */
} Lattice;

static inline double larger(double a, double b) { return b > a ? b : a; }

static inline double add_logs(double a, double b, double c) {
    double most = larger(larger(a, b), c);
    if (most == -INFINITY) return most;
    return most + log(exp(a - most) + exp(b - most) + exp(c - most));
}

static inline int64_t class_of(const Lattice *s, int64_t state) {
    return state & 1 ? s->labels[state >> 1] : s->classes - 1;
}

static inline int may_stay(const Lattice *s, int64_t state) { return !(state & 1) || s->merge; }

/* Whether a state follows the one two before. */
static inline int may_skip(const Lattice *s, int64_t state) {
    if (!(state & 1) || state < 2) return 0;
    return !s->merge || s->labels[state >> 1] != s->labels[(state >> 1) - 1];
}

static void take_logarithms(const float *logits, int64_t classes, double *out) {
    double most = logits[0], sum = 0;
    for (int64_t k = 1; k < classes; k++) most = larger(most, logits[k]);
    for (int64_t k = 0; k < classes; k++) sum += exp((double)logits[k] - most);
    double rest = most + log(sum);
    for (int64_t k = 0; k < classes; k++) out[k] = (double)logits[k] - rest;
}

/* The logarithms of the probabilities of beginnings that end in a state. */
static void go_forward(Lattice *s) {
    for (int64_t state = 0; state < s->width; state++)
        s->alpha[state] = state < 2 ? s->log_y[class_of(s, state)] : -INFINITY;
    for (int64_t t = 1; t < s->steps; t++) {
        const double *before = s->alpha + (t - 1) * s->width, *log_y = s->log_y + t * s->classes;
        double *now = s->alpha + t * s->width;
        for (int64_t state = 0; state < s->width; state++) {
            double stays = may_stay(s, state) ? before[state] : -INFINITY;
            double moves = state > 0 ? before[state - 1] : -INFINITY;
            double skips = may_skip(s, state) ? before[state - 2] : -INFINITY;
            now[state] = log_y[class_of(s, state)] + add_logs(stays, moves, skips);
        }
    }
}

/* One step back of the logarithms of the probabilities of ends that follow a state. */
static void go_back(Lattice *s, int64_t step) {
    const double *log_y = s->log_y + (step + 1) * s->classes;
    for (int64_t state = 0; state < s->width; state++)
        s->after[state] = s->beta[state] + log_y[class_of(s, state)];
    for (int64_t state = 0; state < s->width; state++) {
        int64_t next = state + 1, second = state + 2;
        double stays = may_stay(s, state) ? s->after[state] : -INFINITY;
        double moves = next < s->width ? s->after[next] : -INFINITY;
        double skips = second < s->width && may_skip(s, second) ? s->after[second] : -INFINITY;
        s->beta[state] = add_logs(stays, moves, skips);
    }
}

/* Takes from the probabilities of a step what its states have in all paths. */
static void put_gradient(Lattice *s, int64_t step, double likelihood, float *out) {
    const double *log_y = s->log_y + step * s->classes, *alpha = s->alpha + step * s->width;
    double *y = s->y;
    for (int64_t k = 0; k < s->classes; k++) y[k] = exp(log_y[k]);
    for (int64_t state = 0; isfinite(likelihood) && state < s->width; state++)
        y[class_of(s, state)] -= exp(alpha[state] + s->beta[state] - likelihood);
    for (int64_t k = 0; k < s->classes; k++) out[k] = (float)y[k];
}

static void take_sequence(void *data, int64_t number) {
    Loss *loss = data;
    const Sequences *all = loss->all;
    Lattice s = {.steps = all->lengths[number], .classes = all->classes, .merge = all->merge != 0};
    if (s.steps == 0) return;
    s.labels = all->labels + all->ends[number];
    s.width = 2 * (all->ends[number + 1] - all->ends[number]) + 1;
    int64_t size = s.steps * (s.classes + s.width) + 2 * s.width + s.classes;
    s.log_y = malloc((size_t)size * sizeof(double));
    if (!s.log_y) {
        __atomic_store_n(&loss->failed, 1, __ATOMIC_RELAXED);
        return;
    }
    s.alpha = s.log_y + s.steps * s.classes;
    s.beta = s.alpha + s.steps * s.width, s.after = s.beta + s.width;
    s.y = s.after + s.width;
    int64_t row = all->batch * s.classes, start = number * s.classes;
    for (int64_t t = 0; t < s.steps; t++)
        take_logarithms(loss->logits + t * row + start, s.classes, s.log_y + t * s.classes);
    go_forward(&s);
    const double *ends = s.alpha + (s.steps - 1) * s.width;
    double likelihood = add_logs(ends[s.width - 1], s.width > 1 ? ends[s.width - 2] : -INFINITY,
                                 -INFINITY);
    loss->losses[number] = (float)-likelihood;
    for (int64_t state = 0; state < s.width; state++)
        s.beta[state] = state >= s.width - 2 ? 0 : -INFINITY;
    for (int64_t t = s.steps - 1; t >= 0; t--) {
        if (t + 1 < s.steps) go_back(&s, t);
        put_gradient(&s, t, likelihood, loss->gradient + t * row + start);
    }
    free(s.log_y);
}

/* The losses of sequences and their gradients, both zero before.

   Returns 0, or 1 if there is no memory. */
PUBLIC int64_t ctc_losses(const Sequences *sequences, const float *logits, float *losses,
                          float *gradient, int64_t threads) {
    Loss loss = {sequences, logits, losses, gradient, 0};
    in_parallel(take_sequence, &loss, sequences->batch, threads);
    return loss.failed;
}
