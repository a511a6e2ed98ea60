/* A layer of LSTM cells over all time steps: src/stillflow/ops/recurrent/lstm_layer.py. */
#include "panels.h"

#include <stddef.h>

typedef struct {
    int64_t steps, rows, depth, cells;
    const int64_t *places;       /* of the input gate, memory, forget gate and output gate */
    double forget_bias;
    const float *peepholes[3];   /* [cells], of the input, forget and output gate; or NULL */
    const float *weights;        /* [depth + cells, 4 * cells]; backward the last rows of them */
    const float *bias;           /* [4 * cells] */
    float *packed;               /* forward [panels of 16 cells, 1 + depth + cells, 4, 16]: bias and
                                    weights; backward [vectors of cells, 4 * cells, 16] */
    int64_t is_packed;           /* whether they are there from a run before */
    const float *inputs;         /* [steps, rows, depth], numbers of a row side by side */
    int64_t of_step, of_row;     /* numbers from one to the next */
    float *room;                 /* for few rows, whose inputs are multiplied in advance: [span, rows,
                                    panels, 4, 16]; or NULL. Steps follow each other in the inputs. */
    int64_t span;                /* steps whose inputs are multiplied at once */
    const uint8_t *ended;        /* [steps, rows]: rows that keep their state; or NULL */
    const float *const *gates;   /* by step, gradients [rows, 4 * cells] */
    const float *const *parts[6]; /* by step, [rows, cells]: i, ci, f, o, co, and memory before */
    const float *const *of_outputs; /* by step: gradients of what leaves; or NULL */
    float *results[9];           /* [steps, rows, cells]: i, ci, f, o, co (or NULL), the memory and
                                    output of a step, and the state after it, memory and output */
    float *memory, *output;      /* [rows, cells]: the state before the first step, or gradients */
    int64_t threads;
} Layer;

typedef struct {
    const Layer *all;
    Panels panels;
    Items items;
    int64_t first, count; /* steps of a span */
} Run;

enum { I, CI, F, O, CO, MEMORY, OUTPUT, STATE_MEMORY, STATE_OUTPUT };

/* Adds weights * values to sums, if there are weights. */
INLINE void add_products(float *sums, const float *weights, const float *values, int64_t first,
                         int64_t count) {
    if (weights == NULL) return;
    for (int64_t k = 0; k < count; k++) sums[k] += weights[first + k] * values[k];
}

/* ---- One step, forward */

/* Copies rows of `count` numbers. */
INLINE void copy_rows(float *to, int64_t to_stride, const float *from, int64_t stride, int64_t rows,
                      int64_t count) {
    for (int64_t row = 0; row < rows; row++, to += to_stride, from += stride)
        if (count == LANES)
            memcpy(to, from, LANES * sizeof *to);
        else
            memcpy(to, from, (size_t)count * sizeof *to);
}

/* Cells of some rows, `count` of them from `first` on; sums and other numbers of a row lie LANES
   apart. */
INLINE void activate(const Layer *all, int64_t step, int64_t row, int64_t rows, int64_t first,
                     int64_t count, float (*sums)[GROUP * LANES]) {
    int64_t cells = all->cells, at = (step * all->rows + row) * cells + first;
    int64_t here = row * cells + first, size = rows * LANES;
    const float *old = step ? all->results[STATE_MEMORY] + at - all->rows * cells
                            : all->memory + here;
    float *i = sums[0], *ci = sums[1], *f = sums[2], *o = sums[3];
    float before[GROUP * LANES], memory[GROUP * LANES], co[GROUP * LANES], output[GROUP * LANES];
    if (count < LANES) memset(before, 0, (size_t)size * sizeof *before);
    copy_rows(before, LANES, old, cells, rows, count);
    for (int64_t k = 0; k < size; k += LANES) {
        add_products(i + k, all->peepholes[0], before + k, first, count);
        add_products(f + k, all->peepholes[1], before + k, first, count);
    }
    TURNS_APART
    for (int64_t k = 0; k < size; k++) {
        i[k] = sigmoid(i[k]);
        ci[k] = hyperbolic_tangent(ci[k]);
        f[k] = sigmoid(f[k]);
        memory[k] = i[k] * ci[k] + f[k] * before[k];
        co[k] = hyperbolic_tangent(memory[k]);
    }
    for (int64_t k = 0; k < size; k += LANES)
        add_products(o + k, all->peepholes[2], memory + k, first, count);
    TURNS_APART
    for (int64_t k = 0; k < size; k++) {
        o[k] = sigmoid(o[k]);
        output[k] = o[k] * co[k];
    }
    const float *made[7] = {i, ci, f, o, co, memory, output};
    for (int k = all->results[I] == NULL ? MEMORY : I; k <= OUTPUT; k++)
        copy_rows(all->results[k] + at, cells, made[k], LANES, rows, count);
    for (int64_t k = 0; k < rows && all->ended != NULL; k++) {
        int ended = all->ended[step * all->rows + row + k];
        const float *h = step ? all->results[STATE_OUTPUT] + at - all->rows * cells
                              : all->output + here;
        copy_rows(all->results[STATE_MEMORY] + at + k * cells, 0,
                  (ended ? before : memory) + k * LANES, 0, 1, count);
        copy_rows(all->results[STATE_OUTPUT] + at + k * cells, 0,
                  ended ? h + k * cells : output + k * LANES, 0, 1, count);
    }
}

INLINE void go_forward_item(const Run *run, int64_t step, int64_t panel, int64_t first,
                            int64_t end) {
    const Layer *all = run->all;
    const float *weights = panel_of(&run->panels, panel), *start = weights;
    int64_t cells = all->cells, rows = end - first, columns = run->items.panels * WIDE;
    const float *h = step ? all->results[STATE_OUTPUT] + (step - 1) * all->rows * cells
                          : all->output;
    Rows x[2] = {{NULL, all->of_row, all->depth}, {h + first * cells, cells, cells}};
    float sums[4][GROUP * LANES];
    if (all->room == NULL) {
        x[0].numbers = all->inputs + step * all->of_step + first * all->of_row;
        multiply_panel(x, 2, weights + WIDE, WIDE, start, 0, sums[0], LANES, GROUP * LANES, rows);
    } else {
        start = all->room + ((step - run->first) * all->rows + first) * columns + panel * WIDE;
        multiply_panel(x + 1, 1, weights + (1 + all->depth) * WIDE, WIDE, start, columns, sums[0],
                       LANES, GROUP * LANES, rows);
    }
    int64_t cell = panel * LANES;
    activate(all, step, first, rows, cell, least(LANES, cells - cell), sums);
}

/* The part of the gates that is by the inputs, and their bias. */
static void multiply_inputs_item(const Run *run, int64_t panel, int64_t first, int64_t end) {
    const Layer *all = run->all;
    const float *weights = panel_of(&run->panels, panel);
    int64_t columns = run->items.panels * WIDE;
    const float *inputs = all->inputs + run->first * all->of_step;
    Rows x = {inputs + first * all->of_row, all->of_row, all->depth};
    multiply_panel(&x, 1, weights + WIDE, WIDE, weights, 0,
                   all->room + first * columns + panel * WIDE, columns, LANES, end - first);
}

/* ---- One step, backward; step 0 is the last one forward */

INLINE void differentiate(const Layer *all, int64_t step, int64_t row, int64_t first,
                          int64_t count) {
    int64_t cells = all->cells, at = row * cells + first;
    int ended = all->ended != NULL && all->ended[step * all->rows + row];
    const float *i = all->parts[0][step] + at, *ci = all->parts[1][step] + at;
    const float *f = all->parts[2][step] + at, *o = all->parts[3][step] + at;
    const float *co = all->parts[4][step] + at, *before = all->parts[5][step] + at;
    float *of_memory = all->memory + at;
    const float *of_state = all->output + at;
    const float *of_output = all->of_outputs == NULL ? NULL : all->of_outputs[step] + at;
    float *of_gates = (float *)all->gates[step] + 4 * row * cells + first;
    float *gate_i = of_gates + all->places[0] * cells, *gate_ci = of_gates + all->places[1] * cells;
    float *gate_f = of_gates + all->places[2] * cells, *gate_o = of_gates + all->places[3] * cells;
    float dh[WIDE], dcs[WIDE], stays[WIDE];
    for (int64_t k = 0; k < count; k++)
        dh[k] = (ended ? 0.0f : of_state[k]) + (of_output == NULL ? 0.0f : of_output[k]);
    TURNS_APART
    for (int64_t k = 0; k < count; k++) {
        stays[k] = ended ? of_memory[k] : 0.0f;
        dcs[k] = (ended ? 0.0f : of_memory[k]) + dh[k] * o[k] * (1 - co[k] * co[k]);
        gate_o[k] = dh[k] * co[k] * (1 - o[k]) * o[k];
    }
    add_products(dcs, all->peepholes[2], gate_o, first, count);
    TURNS_APART
    for (int64_t k = 0; k < count; k++) {
        gate_i[k] = dcs[k] * ci[k] * (1 - i[k]) * i[k];
        gate_ci[k] = dcs[k] * i[k] * (1 - ci[k] * ci[k]);
        gate_f[k] = dcs[k] * before[k] * (1 - f[k]) * f[k];
        of_memory[k] = dcs[k] * f[k] + stays[k];
    }
    add_products(of_memory, all->peepholes[0], gate_i, first, count);
    add_products(of_memory, all->peepholes[1], gate_f, first, count);
}

/* The gradient of the state before the last step made, by the gradients of its gates. */
INLINE void go_back(const Run *run, int64_t last, int64_t panel, int64_t first, int64_t end) {
    const Layer *all = run->all;
    int64_t cells = all->cells, count = least(WIDE, cells - panel * WIDE);
    int64_t line = line_of(&run->panels, panel);
    Rows x = {all->gates[last] + 4 * first * cells, 4 * cells, 4 * cells};
    float sums[GROUP * WIDE];
    multiply_panel(&x, 1, panel_of(&run->panels, panel), line, NULL, 0, sums, line, LANES,
                   end - first);
    for (int64_t row = first; row < end; row++) {
        float *to = all->output + row * cells + panel * WIDE;
        const float *sum = sums + (row - first) * line;
        int ended = all->ended != NULL && all->ended[last * all->rows + row];
        for (int64_t k = 0; k < count; k++) to[k] = sum[k] + (ended ? to[k] : 0.0f);
    }
}

INLINE void go_backward_item(const Run *run, int64_t step, int64_t panel, int64_t first,
                             int64_t end) {
    const Layer *all = run->all;
    int64_t count = least(WIDE, all->cells - panel * WIDE);
    if (step) go_back(run, step - 1, panel, first, end);
    if (step < all->steps)
        for (int64_t row = first; row < end; row++)
            differentiate(all, step, row, panel * WIDE, count);
}

/* ---- All steps */

static void multiply_inputs(void *data, int64_t step, int64_t slot) {
    const Run *run = data;
    Items items = run->items;
    items.rows *= run->count;
    items.groups = parts_of(items.rows, GROUP);
    (void)step;
    EACH_ITEM(items, multiply_inputs_item, run)
}

FOR_EACH_MULTIPLIER static void step_forward(void *data, int64_t step, int64_t slot) {
    const Run *run = data;
    EACH_ITEM(run->items, go_forward_item, run, run->first + step)
}

FOR_EACH_MULTIPLIER static void step_backward(void *data, int64_t step, int64_t slot) {
    const Run *run = data;
    EACH_ITEM(run->items, go_backward_item, run, step)
}

static Run prepare(const Layer *all, int64_t groups, int64_t depth, const int64_t *places) {
    Run run = {.all = all};
    run.panels = panels_by(all->weights, all->packed, groups, depth, all->cells, places);
    run.items = items_of(panels_of(&run.panels), all->rows, all->rows * all->cells * 4 * all->cells,
                         all->threads);
    return run;
}

/* Fills the results, and what is packed unless it is there. */
PUBLIC void lstm_layer(const Layer *all) {
    Run run = prepare(all, 4, all->depth + all->cells, all->places);
    run.panels.bias = all->bias, run.panels.lines++;
    if (!all->is_packed) {
        pack(&run.panels, run.items.slots > 1 ? all->threads : 1);
        for (int64_t panel = 0; panel < run.items.panels; panel++) {
            float *bias = (float *)panel_of(&run.panels, panel) + 2 * LANES;
            for (int k = 0; k < LANES; k++) bias[k] += (float)all->forget_bias;
        }
    }
    for (; run.first < all->steps; run.first += all->span) {
        run.count = least(all->span, all->steps - run.first);
        if (all->room != NULL) in_steps(multiply_inputs, &run, 1, run.items.slots);
        in_steps(step_forward, &run, run.count, run.items.slots);
    }
}

/* Fills the gradients of the gates. Those of the state after the steps are given, and become those
   of the state before them. */
PUBLIC void lstm_layer_gradient(const Layer *all) {
    Run run = prepare(all, 1, 4 * all->cells, NULL);
    pack(&run.panels, run.items.slots > 1 ? all->threads : 1);
    in_steps(step_backward, &run, all->steps + 1, run.items.slots);
}
