/* A layer of gated recurrent units over all time steps, or of cells without gates, whose output is
   tanh(input + product of the state): src/stillflow/ops/recurrent/gru_layer.py.

   A step is two: the gates by the state, then the candidate by the product of reset gate and state. */
#include "panels.h"

#include <stddef.h>

typedef struct {
    int64_t steps, rows, cells;
    const float *weights[2];     /* of the gates r and u, [cells, 2 * cells], or NULL without;
                                    of the candidate, [cells, cells] */
    float *packed[2];            /* the panels: [vectors of cells, rows * columns / cells, 16] */
    const uint8_t *ended;        /* [steps, rows]: rows that keep their state; or NULL */
    const float *const *given[2]; /* by step, of gates, [rows, 2 * cells], and of the candidate,
                                     [rows, cells]: the inputs' part, or gradients */
    const float *const *parts[5]; /* by step, [rows, cells]: c, h before, r, u, 1 - u */
    int64_t stride;              /* of a row of r and u */
    const float *const *of_outputs; /* by step: gradients of what leaves; or NULL */
    float *results[5];           /* [steps, rows, cells]: c, r * h, gates (2 * cells), the output
                                    of a step, and the state after it */
    float *state;                /* [rows, cells]: before the first step, or its gradient */
    int64_t threads;
} Units;

typedef struct {
    const Units *all;
    Panels panels[2];
    Items items[2];
} Run;

enum { C, RH, GATES, OUTPUT, STATE };
enum { BEFORE = 1, R, U, KEPT };

/* ---- One step, forward */

static inline const float *state_of(const Units *all, int64_t step) {
    return step ? all->results[STATE] + (step - 1) * all->rows * all->cells : all->state;
}

/* Cells of a panel, from `begin` on, and the products with rows of a matrix of that many columns. */
typedef struct {
    int64_t begin, count, line; /* numbers in a row of the sums */
    float sums[GROUP * WIDE];
} Part;

INLINE void multiply_part(const Panels *panels, int64_t panel, const float *x, int64_t columns,
                          int64_t rows, Part *part) {
    part->begin = panel * cells_of(panels);
    part->count = least(cells_of(panels), panels->cells - part->begin);
    part->line = line_of(panels, panel);
    Rows own = {x, columns, columns};
    if (x != NULL)
        multiply_panel(&own, 1, panel_of(panels, panel), part->line, NULL, 0, part->sums,
                       part->line, LANES, rows);
}

INLINE void gates_item(const Run *run, int64_t step, int64_t panel, int64_t first, int64_t end) {
    const Units *all = run->all;
    int64_t cells = all->cells;
    const float *state = state_of(all, step);
    Part part;
    multiply_part(run->panels, panel, state + first * cells, cells, end - first, &part);
    int64_t begin = part.begin, count = part.count;
    for (int64_t row = first; row < end; row++) {
        int64_t at = step * all->rows + row;
        const float *given = all->given[0][step] + 2 * row * cells + begin;
        const float *zr = part.sums + (row - first) * part.line, *zu = zr + part.line / 2;
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

INLINE void candidate_item(const Run *run, int64_t step, int64_t panel, int64_t first, int64_t end) {
    const Units *all = run->all;
    int64_t cells = all->cells;
    int gated = all->weights[0] != NULL;
    const float *state = state_of(all, step);
    const float *x = gated ? all->results[RH] + step * all->rows * cells : state;
    Part part;
    multiply_part(run->panels + 1, panel, x + first * cells, cells, end - first, &part);
    int64_t begin = part.begin, count = part.count;
    for (int64_t row = first; row < end; row++) {
        int64_t in_step = step * all->rows + row, at = in_step * cells + begin;
        const float *given = all->given[1][step] + row * cells + begin;
        const float *z = part.sums + (row - first) * part.line, *h = state + row * cells + begin;
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
INLINE void given_item(const Run *run, int64_t step, int64_t panel, int64_t first, int64_t end) {
    const Units *all = run->all;
    int64_t cells = all->cells;
    int gated = all->weights[0] != NULL;
    const float *x = step && gated ? all->given[0][step - 1] + 2 * first * cells : NULL;
    Part part;
    multiply_part(run->panels, panel, x, 2 * cells, end - first, &part);
    int64_t begin = part.begin, count = part.count;
    for (int64_t row = first; row < end; row++) {
        float *state = all->state + row * cells + begin, dh[WIDE];
        int64_t at = row * cells + begin;
        const float *sum = part.sums + (row - first) * part.line;
        for (int64_t k = 0; k < count && x != NULL; k++) state[k] += sum[k];
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
INLINE void taken_item(const Run *run, int64_t step, int64_t panel, int64_t first, int64_t end) {
    const Units *all = run->all;
    int64_t cells = all->cells;
    const float *x = all->given[1][step] + first * cells;
    Part part;
    multiply_part(run->panels + 1, panel, x, cells, end - first, &part);
    int64_t begin = part.begin, count = part.count;
    for (int64_t row = first; row < end; row++) {
        const float *sum = part.sums + (row - first) * part.line;
        float *state = all->state + row * cells + begin;
        if (all->weights[0] == NULL) {
            for (int64_t k = 0; k < count; k++) state[k] += sum[k];
            continue;
        }
        const float *h = all->parts[BEFORE][step] + row * cells + begin;
        const float *r = all->parts[R][step] + row * all->stride + begin;
        float *of_r = (float *)all->given[0][step] + 2 * row * cells + begin;
        TURNS_APART
        for (int64_t k = 0; k < count; k++) {
            of_r[k] = sum[k] * h[k] * (1 - r[k]) * r[k];
            state[k] += r[k] * sum[k];
        }
    }
}

/* ---- All steps: of each two, first the gates */

FOR_EACH_MULTIPLIER static void step_forward(void *data, int64_t step, int64_t slot) {
    const Run *run = data;
    if (run->all->weights[0] == NULL) {
        EACH_ITEM(run->items[1], candidate_item, run, step)
    } else if (step % 2 == 0) {
        EACH_ITEM(run->items[0], gates_item, run, step / 2)
    } else {
        EACH_ITEM(run->items[1], candidate_item, run, step / 2)
    }
}

FOR_EACH_MULTIPLIER static void step_backward(void *data, int64_t step, int64_t slot) {
    const Run *run = data;
    if (step % 2 == 0) {
        EACH_ITEM(run->items[0], given_item, run, step / 2)
    } else {
        EACH_ITEM(run->items[1], taken_item, run, step / 2)
    }
}

static Run prepare(const Units *all, int forward) {
    static const int64_t places[2] = {0, 1};
    Run run = {.all = all};
    int64_t cells = all->cells, products = all->rows * cells * 2 * cells, slots = MOST_SLOTS;
    for (int which = 0; which < 2; which++) {
        int64_t groups = forward && which == 0 ? 2 : 1;
        int64_t depth = which == 0 ? 2 * cells / groups : cells;
        run.panels[which] = panels_by(all->weights[which], all->packed[which], groups, depth, cells,
                                      forward ? places : NULL);
        run.items[which] = items_of(panels_of(run.panels + which), all->rows, products,
                                    all->threads);
        slots = least(slots, run.items[which].slots);
    }
    for (int which = 0; which < 2; which++) {
        run.items[which].slots = slots;
        if (all->weights[which] != NULL) pack(run.panels + which, slots > 1 ? all->threads : 1);
    }
    return run;
}

/* Fills the results. */
PUBLIC void gru_layer(const Units *all) {
    Run run = prepare(all, 1);
    in_steps(step_forward, &run, all->steps * (all->weights[0] == NULL ? 1 : 2), run.items[0].slots);
}

/* Fills the gradients of gates and candidates. That of the state after the steps is given, and
   becomes that of the state before them. */
PUBLIC void gru_layer_gradient(const Units *all) {
    Run run = prepare(all, 0);
    in_steps(step_backward, &run, 2 * all->steps + 1, run.items[0].slots);
}
