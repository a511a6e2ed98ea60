/* A layer of LSTM cells over all time steps: src/stillflow/ops/recurrent/lstm_layer.py. */
#include "panels.h"

#include <stddef.h>

typedef struct {
    int64_t steps, rows, cells;
    const int64_t *places;       /* of the input gate, memory, forget gate and output gate */
    double forget_bias;
    const float *peepholes[3];   /* [cells], of the input, forget and output gate; or NULL */
    const float *weights;        /* [cells, 4 * cells] */
    float *packed;               /* [panels of 32 cells, 4 * cells, 32]: the weights in panels */
    const uint8_t *ended;        /* [steps, rows]: rows that keep their state; or NULL */
    const float *const *gates;   /* by step, [rows, 4 * cells]: the inputs' part, or gradients */
    const float *const *parts[6]; /* by step, [rows, cells]: i, ci, f, o, co, and memory before */
    const float *const *of_outputs; /* by step: gradients of what leaves; or NULL */
    float *results[9];           /* [steps, rows, cells]: i, ci, f, o, co (or NULL), the memory and
                                    output of a step, and the state after it, memory and output */
    float *memory, *output;      /* [rows, cells]: the state before the first step, or gradients */
    int64_t threads, step, slots, tall; /* but for threads to be set by this code, as the panels */
    Panels panels;
} Layer;

enum { I, CI, F, O, CO, MEMORY, OUTPUT, STATE_MEMORY, STATE_OUTPUT };

/* Adds weights * values to sums, if there are weights. */
INLINE void add_products(float *sums, const float *weights, const float *values, int64_t first,
                         int64_t count) {
    if (weights == NULL) return;
    for (int64_t k = 0; k < count; k++) sums[k] += weights[first + k] * values[k];
}

/* ---- One step, forward */

INLINE void activate(const Layer *all, int64_t row, int64_t first, int64_t count,
                     float *const sums[4]) {
    int64_t cells = all->cells, at = (all->step * all->rows + row) * cells + first;
    int64_t here = row * cells + first;
    const float *given = all->gates[all->step] + 4 * row * cells + first;
    const float *gate[4];
    for (int k = 0; k < 4; k++) gate[k] = given + all->places[k] * cells;
    float *zi = sums[0], *zci = sums[1], *zf = sums[2], *zo = sums[3];
    const float *gi = gate[0], *gci = gate[1], *gf = gate[2], *go = gate[3];
    const float *before = all->step ? all->results[STATE_MEMORY] + at - all->rows * cells
                                    : all->memory + here;
    float i[WIDE], ci[WIDE], f[WIDE], o[WIDE], co[WIDE], bias = (float)all->forget_bias;
    float *memory = all->results[MEMORY] + at, *output = all->results[OUTPUT] + at;
    add_products(zi, all->peepholes[0], before, first, count);
    add_products(zf, all->peepholes[1], before, first, count);
    TURNS_APART
    for (int64_t k = 0; k < count; k++) {
        i[k] = sigmoid(gi[k] + zi[k]);
        ci[k] = hyperbolic_tangent(gci[k] + zci[k]);
        f[k] = sigmoid(gf[k] + zf[k] + bias);
        float sum = i[k] * ci[k] + f[k] * before[k];
        memory[k] = sum;
        co[k] = hyperbolic_tangent(sum);
    }
    add_products(zo, all->peepholes[2], memory, first, count);
    TURNS_APART
    for (int64_t k = 0; k < count; k++) {
        o[k] = sigmoid(go[k] + zo[k]);
        output[k] = o[k] * co[k];
    }
    const float *parts[5] = {i, ci, f, o, co};
    size_t size = (size_t)count * sizeof(float);
    if (all->results[I] != NULL)
        for (int k = 0; k < 5; k++) memcpy(all->results[k] + at, parts[k], size);
    if (all->ended == NULL) return;
    int ended = all->ended[all->step * all->rows + row];
    const float *h = all->step ? all->results[STATE_OUTPUT] + at - all->rows * cells
                               : all->output + here;
    memcpy(all->results[STATE_MEMORY] + at, ended ? before : memory, size);
    memcpy(all->results[STATE_OUTPUT] + at, ended ? h : output, size);
}

INLINE void go_forward_item(const Layer *all, int64_t panel, int64_t first, int64_t end) {
    int64_t cells = all->cells, count = least(WIDE, cells - panel * WIDE), rows = end - first;
    const float *h = all->step ? all->results[STATE_OUTPUT] + (all->step - 1) * all->rows * cells
                               : all->output;
    float sums[4][GROUP * WIDE];
    multiply_item(&all->panels, h + first * cells, panel, rows, all->tall, sums, 4);
    for (int64_t row = 0; row < rows; row++) {
        float *own[4];
        for (int gate = 0; gate < 4; gate++) own[gate] = sums[gate] + row * WIDE;
        activate(all, first + row, panel * WIDE, count, own);
    }
}

/* ---- One step, backward; step 0 is the last one forward */

INLINE void differentiate(const Layer *all, int64_t row, int64_t first, int64_t count) {
    int64_t cells = all->cells, at = row * cells + first, step = all->step;
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
INLINE void go_back(const Layer *all, int64_t panel, int64_t first, int64_t end) {
    int64_t cells = all->cells, count = least(WIDE, cells - panel * WIDE), last = all->step - 1;
    float sums[1][GROUP * WIDE];
    multiply_item(&all->panels, all->gates[last] + 4 * first * cells, panel, end - first,
                  all->tall, sums, 1);
    for (int64_t row = first; row < end; row++) {
        float *to = all->output + row * cells + panel * WIDE;
        const float *sum = sums[0] + (row - first) * WIDE;
        int ended = all->ended != NULL && all->ended[last * all->rows + row];
        for (int64_t k = 0; k < count; k++) to[k] = sum[k] + (ended ? to[k] : 0.0f);
    }
}

INLINE void go_backward_item(const Layer *all, int64_t panel, int64_t first, int64_t end) {
    int64_t count = least(WIDE, all->cells - panel * WIDE);
    if (all->step) go_back(all, panel, first, end);
    if (all->step < all->steps)
        for (int64_t row = first; row < end; row++) differentiate(all, row, panel * WIDE, count);
}

/* ---- All steps */

/* ---- All steps */

FOR_EACH_MULTIPLIER static void step_forward(void *data, int64_t slot) {
    const Layer *all = data;
    EACH_ITEM(all, go_forward_item)
}

FOR_EACH_MULTIPLIER static void step_backward(void *data, int64_t slot) {
    const Layer *all = data;
    EACH_ITEM(all, go_backward_item)
}

static void prepare(Layer *all, const int64_t *places) {
    int64_t cells = all->cells, groups = places == NULL ? 1 : 4;
    all->panels = (Panels){all->weights, all->packed, groups, 4 * cells / groups, cells, places};
    all->tall = rows_at_once();
    all->slots = slots_of(all->rows, cells, 4 * cells, all->threads);
    pack(&all->panels, all->slots > 1 ? all->threads : 1);
}

/* Fills the results. */
PUBLIC void lstm_layer(Layer *all) {
    prepare(all, all->places);
    for (all->step = 0; all->step < all->steps; all->step++)
        in_parallel(step_forward, all, all->slots, all->slots);
}

/* Fills the gradients of the gates. Those of the state after the steps are given, and become those
   of the state before them. */
PUBLIC void lstm_layer_gradient(Layer *all) {
    prepare(all, NULL);
    for (all->step = 0; all->step <= all->steps; all->step++)
        in_parallel(step_backward, all, all->slots, all->slots);
}
