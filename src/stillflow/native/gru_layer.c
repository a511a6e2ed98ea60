/* A layer of gated recurrent units over all time steps, or of cells without gates, whose output is
   tanh(input + product of the state): src/stillflow/ops/recurrent/gru_layer.py.

   A step is two: the gates by the state, then the candidate by the product of reset gate and state. */
#include "panels.h"

#include <stddef.h>

typedef struct {
    int64_t steps, rows, cells;
    const float *weights[2];     /* of the gates r and u, [cells, 2 * cells], or NULL without;
                                    of the candidate, [cells, cells] */
    float *packed[2];            /* [panels of 32 cells, those rows * columns / cells, 32] */
    const uint8_t *ended;        /* [steps, rows]: rows that keep their state; or NULL */
    const float *const *given[2]; /* by step, of gates, [rows, 2 * cells], and of the candidate,
                                     [rows, cells]: the inputs' part, or gradients */
    const float *const *parts[5]; /* by step, [rows, cells]: c, h before, r, u, 1 - u */
    int64_t stride;              /* of a row of r and u */
    const float *const *of_outputs; /* by step: gradients of what leaves; or NULL */
    float *results[5];           /* [steps, rows, cells]: c, r * h, gates (2 * cells), the output
                                    of a step, and the state after it */
    float *state;                /* [rows, cells]: before the first step, or its gradient */
    int64_t threads, step, slots, tall; /* but for threads to be set by this code, as the panels */
    Panels panels[2];
} Units;

enum { C, RH, GATES, OUTPUT, STATE };
enum { BEFORE = 1, R, U, KEPT };

/* ---- One step, forward */

static inline const float *state_of(const Units *all) {
    return all->step ? all->results[STATE] + (all->step - 1) * all->rows * all->cells : all->state;
}

INLINE void gates_item(const Units *all, int64_t panel, int64_t first, int64_t end) {
    int64_t cells = all->cells, begin = panel * WIDE, count = least(WIDE, cells - begin);
    const float *state = state_of(all);
    float sums[2][GROUP * WIDE];
    multiply_item(all->panels, state + first * cells, panel, end - first, all->tall, sums, 2);
    for (int64_t row = first; row < end; row++) {
        int64_t at = all->step * all->rows + row;
        const float *given = all->given[0][all->step] + 2 * row * cells + begin;
        const float *zr = sums[0] + (row - first) * WIDE, *zu = sums[1] + (row - first) * WIDE;
        const float *h = state + row * cells + begin;
        float *r = all->results[GATES] + 2 * at * cells + begin, *u = r + cells;
        float *rh = all->results[RH] + at * cells + begin;
        TURNS_APART
        for (int64_t k = 0; k < count; k++) {
            r[k] = sigmoid(given[k] + zr[k]);
            u[k] = sigmoid(given[cells + k] + zu[k]);
            rh[k] = r[k] * h[k];
        }
    }
}

INLINE void candidate_item(const Units *all, int64_t panel, int64_t first, int64_t end) {
    int64_t cells = all->cells, begin = panel * WIDE, count = least(WIDE, cells - begin);
    int gated = all->weights[0] != NULL;
    const float *state = state_of(all);
    const float *x = gated ? all->results[RH] + all->step * all->rows * cells : state;
    float sums[1][GROUP * WIDE];
    multiply_item(all->panels + 1, x + first * cells, panel, end - first, all->tall, sums, 1);
    for (int64_t row = first; row < end; row++) {
        int64_t in_step = all->step * all->rows + row, at = in_step * cells + begin;
        const float *given = all->given[1][all->step] + row * cells + begin;
        const float *z = sums[0] + (row - first) * WIDE, *h = state + row * cells + begin;
        float *c = all->results[C] + at, *output = all->results[OUTPUT] + at;
        TURNS_APART
        for (int64_t k = 0; k < count; k++) c[k] = hyperbolic_tangent(given[k] + z[k]);
        if (gated) {
            const float *u = all->results[GATES] + (2 * in_step + 1) * cells + begin;
            TURNS_APART
            for (int64_t k = 0; k < count; k++) output[k] = u[k] * h[k] + (1 - u[k]) * c[k];
        }
        if (all->ended != NULL)
            memcpy(all->results[STATE] + at, all->ended[in_step] ? h : output,
                   (size_t)count * sizeof *h);
    }
}

/* ---- One step, backward; step 0 is the last one forward */

/* The gradient of the state after a step, by that of the gates in the step after it; then those of
   the candidate and of the update gate, and what of it goes past them. */
INLINE void given_item(const Units *all, int64_t panel, int64_t first, int64_t end) {
    int64_t cells = all->cells, begin = panel * WIDE, count = least(WIDE, cells - begin);
    int64_t step = all->step;
    int gated = all->weights[0] != NULL;
    float sums[1][GROUP * WIDE];
    if (step && gated)
        multiply_item(all->panels, all->given[0][step - 1] + 2 * first * cells, panel, end - first,
                      all->tall, sums, 1);
    for (int64_t row = first; row < end; row++) {
        float *state = all->state + row * cells + begin, dh[WIDE];
        int64_t at = row * cells + begin;
        if (step && gated)
            for (int64_t k = 0; k < count; k++) state[k] += sums[0][(row - first) * WIDE + k];
        if (step == all->steps) continue;
        int ended = all->ended != NULL && all->ended[step * all->rows + row];
        const float *of_output = all->of_outputs == NULL ? NULL : all->of_outputs[step] + at;
        for (int64_t k = 0; k < count; k++)
            dh[k] = (ended ? 0.0f : state[k]) + (of_output == NULL ? 0.0f : of_output[k]);
        const float *c = all->parts[C][step] + at;
        float *of_c = (float *)all->given[1][step] + at;
        if (!gated) {
            for (int64_t k = 0; k < count; k++) of_c[k] = dh[k] * (1 - c[k] * c[k]);
            for (int64_t k = 0; k < count && !ended; k++) state[k] = 0;
            continue;
        }
        const float *h = all->parts[BEFORE][step] + at, *kept = all->parts[KEPT][step] + at;
        const float *u = all->parts[U][step] + row * all->stride + begin;
        float *of_u = (float *)all->given[0][step] + (2 * row + 1) * cells + begin;
        TURNS_APART
        for (int64_t k = 0; k < count; k++) {
            of_c[k] = kept[k] * dh[k] * (1 - c[k] * c[k]);
            of_u[k] = (dh[k] * h[k] - dh[k] * c[k]) * (1 - u[k]) * u[k];
            state[k] = u[k] * dh[k] + (ended ? state[k] : 0.0f);
        }
    }
}

/* The gradient of the reset gate, and that of the state by the candidate's. */
INLINE void taken_item(const Units *all, int64_t panel, int64_t first, int64_t end) {
    int64_t cells = all->cells, begin = panel * WIDE, count = least(WIDE, cells - begin);
    float sums[1][GROUP * WIDE];
    multiply_item(all->panels + 1, all->given[1][all->step] + first * cells, panel, end - first,
                  all->tall, sums, 1);
    for (int64_t row = first; row < end; row++) {
        const float *sum = sums[0] + (row - first) * WIDE;
        float *state = all->state + row * cells + begin;
        if (all->weights[0] == NULL) {
            for (int64_t k = 0; k < count; k++) state[k] += sum[k];
            continue;
        }
        const float *h = all->parts[BEFORE][all->step] + row * cells + begin;
        const float *r = all->parts[R][all->step] + row * all->stride + begin;
        float *of_r = (float *)all->given[0][all->step] + 2 * row * cells + begin;
        TURNS_APART
        for (int64_t k = 0; k < count; k++) {
            of_r[k] = sum[k] * h[k] * (1 - r[k]) * r[k];
            state[k] += r[k] * sum[k];
        }
    }
}

/* ---- All steps */

#define HALF_A_STEP(name, do_item)                                  \
    FOR_EACH_MULTIPLIER static void name(void *data, int64_t slot) { \
        const Units *all = data;                                    \
        EACH_ITEM(all, do_item)                                     \
    }

HALF_A_STEP(gates_forward, gates_item)
HALF_A_STEP(candidate_forward, candidate_item)
HALF_A_STEP(given_backward, given_item)
HALF_A_STEP(taken_backward, taken_item)

static void prepare(Units *all, int forward) {
    static const int64_t places[2] = {0, 1};
    int64_t cells = all->cells;
    all->tall = rows_at_once();
    all->slots = slots_of(all->rows, cells, 2 * cells, all->threads);
    for (int which = 0; which < 2; which++) {
        int64_t groups = forward && which == 0 ? 2 : 1;
        int64_t depth = which == 0 ? 2 * cells / groups : cells;
        all->panels[which] = (Panels){all->weights[which], all->packed[which], groups, depth, cells,
                                      forward ? places : NULL};
        if (all->weights[which] != NULL)
            pack(all->panels + which, all->slots > 1 ? all->threads : 1);
    }
}

/* Fills the results. */
PUBLIC void gru_layer(Units *all) {
    prepare(all, 1);
    for (all->step = 0; all->step < all->steps; all->step++) {
        if (all->weights[0] != NULL) in_parallel(gates_forward, all, all->slots, all->slots);
        in_parallel(candidate_forward, all, all->slots, all->slots);
    }
}

/* Fills the gradients of gates and candidates. That of the state after the steps is given, and
   becomes that of the state before them. */
PUBLIC void gru_layer_gradient(Units *all) {
    prepare(all, 0);
    for (all->step = 0; all->step <= all->steps; all->step++) {
        in_parallel(given_backward, all, all->slots, all->slots);
        if (all->step < all->steps) in_parallel(taken_backward, all, all->slots, all->slots);
    }
}
