/* Steps of LSTM cells: src/stillflow/ops/recurrent/lstm_block.py. */
#include "activations.h"

enum { TASK = 8192 /* numbers that one thread takes at a time */ };

/* ---- Steps */

/* Rows of numbers [rows, cells]; gates have four of them in a row, of each its place. */
typedef struct {
    int64_t rows, cells;
    const int64_t *places;          /* of the input gate, memory, forget gate and output gate */
    const float *const *peepholes;  /* weights of these three gates, or NULL */
    float forget_bias, clip;
    const float *gates, *before;    /* memory */
    float *const *outputs;          /* i, cs, f, o, ci, co and h */
    const float *of_memory, *of_output; /* gradients, and what they are added to */
    float *of_before, *of_gates;
    const float *more_of_memory, *more_of_output;
    int64_t offset;                 /* of the step in the outputs */
} Step;

enum { I, CS, F, O, CI, CO, H, OUTPUTS };

INLINE void forward(const Step *all, int64_t row, int with_peepholes) {
    int64_t cells = all->cells, at = row * cells;
    const float *gates = all->gates + 4 * at, *before = all->before + at;
    const float *gate_i = gates + all->places[0] * cells;
    const float *gate_ci = gates + all->places[1] * cells;
    const float *gate_f = gates + all->places[2] * cells;
    const float *gate_o = gates + all->places[3] * cells;
    const float *wci = all->peepholes ? all->peepholes[0] : NULL;
    const float *wcf = all->peepholes ? all->peepholes[1] : NULL;
    const float *wco = all->peepholes ? all->peepholes[2] : NULL;
    float *const *out = all->outputs;
    at += all->offset;
    float *i = out[I] + at, *cs = out[CS] + at, *f = out[F] + at;
    float *o = out[O] + at, *ci = out[CI] + at, *co = out[CO] + at;
    float *h = out[H] + at, clip = all->clip, forget_bias = all->forget_bias;
    TURNS_APART
    for (int64_t k = 0; k < cells; k++) {
        float input = gate_i[k], forget = gate_f[k] + forget_bias, memory;
        if (with_peepholes) input += before[k] * wci[k], forget += before[k] * wcf[k];
        i[k] = sigmoid(input);
        ci[k] = hyperbolic_tangent(gate_ci[k]);
        f[k] = sigmoid(forget);
        memory = i[k] * ci[k] + f[k] * before[k];
        memory = between(memory, -clip, clip);
        cs[k] = memory;
        co[k] = hyperbolic_tangent(memory);
        o[k] = sigmoid(with_peepholes ? gate_o[k] + memory * wco[k] : gate_o[k]);
        h[k] = o[k] * co[k];
    }
}

INLINE void backward(const Step *all, int64_t row, int with_peepholes) {
    int64_t cells = all->cells, at = row * cells, place = at + all->offset;
    const float *before = all->before + at;
    const float *of_memory = all->of_memory + at;
    const float *of_output = all->of_output + at;
    const float *more_of_memory = all->more_of_memory + at;
    const float *more_of_output = all->more_of_output + at;
    const float *wci = all->peepholes ? all->peepholes[0] : NULL;
    const float *wcf = all->peepholes ? all->peepholes[1] : NULL;
    const float *wco = all->peepholes ? all->peepholes[2] : NULL;
    float *const *out = all->outputs, *of_before = all->of_before + at;
    const float *i = out[I] + place, *f = out[F] + place;
    const float *o = out[O] + place, *ci = out[CI] + place;
    const float *co = out[CO] + place;
    float *of_gates = all->of_gates + 4 * at;
    float *gate_i = of_gates + all->places[0] * cells;
    float *gate_ci = of_gates + all->places[1] * cells;
    float *gate_f = of_gates + all->places[2] * cells;
    float *gate_o = of_gates + all->places[3] * cells;
    TURNS_APART
    for (int64_t k = 0; k < cells; k++) {
        float dh = of_output[k] + more_of_output[k];
        float of_o = o[k] * (1 - o[k]) * dh * co[k];
        float dcs = (1 - co[k] * co[k]) * dh * o[k] + (of_memory[k] + more_of_memory[k]);
        if (with_peepholes) dcs += of_o * wco[k];
        float of_ci = (1 - ci[k] * ci[k]) * dcs * i[k];
        float of_f = f[k] * (1 - f[k]) * dcs * before[k];
        float of_i = i[k] * (1 - i[k]) * dcs * ci[k];
        float dc = dcs * f[k];
        if (with_peepholes) dc += of_i * wci[k] + of_f * wcf[k];
        gate_i[k] = of_i, gate_ci[k] = of_ci, gate_f[k] = of_f, gate_o[k] = of_o;
        of_before[k] = dc;
    }
}

static inline int64_t rows_of_task(const Step *all) { return TASK / all->cells + 1; }

static inline int64_t end_of_task(const Step *all, int64_t task) {
    int64_t end = (task + 1) * rows_of_task(all);
    return end < all->rows ? end : all->rows;
}

FOR_EACH_PROCESSOR
static void go_forward(void *data, int64_t task) {
    const Step *all = data;
    int64_t end = end_of_task(all, task);
    for (int64_t row = task * rows_of_task(all); row < end; row++)
        all->peepholes ? forward(all, row, 1) : forward(all, row, 0);
}

FOR_EACH_PROCESSOR
static void go_backward(void *data, int64_t task) {
    const Step *all = data;
    int64_t end = end_of_task(all, task);
    for (int64_t row = task * rows_of_task(all); row < end; row++)
        all->peepholes ? backward(all, row, 1) : backward(all, row, 0);
}

static void run(Work work, Step *all, int64_t threads) {
    in_parallel(work, all, (all->rows + rows_of_task(all) - 1) / rows_of_task(all), threads);
}

/* One step of a cell.

   gates: before their activations, [rows, 4 * cells].
   outputs: where arrays begin that receive what the step gives, `offset` numbers further on. */
PUBLIC void lstm_forward(int64_t rows, int64_t cells, const int64_t *places,
                         const float *const *peepholes, double forget_bias, double clip,
                         const float *gates, const float *before, float *const *outputs,
                         int64_t offset, int64_t threads) {
    Step all = {.rows = rows, .cells = cells, .places = places, .peepholes = peepholes};
    all.forget_bias = (float)forget_bias, all.clip = (float)clip;
    all.gates = gates, all.before = before, all.outputs = outputs, all.offset = offset;
    run(go_forward, &all, threads);
}

/* Its gradients, of the memory before it and of the gates.

   of_memory, of_output: gradients of the step's memory and output, each to be added to `more` of
     it; that of the memory before may take the place of the former. */
PUBLIC void lstm_backward(int64_t rows, int64_t cells, const int64_t *places,
                          const float *const *peepholes, const float *before,
                          float *const *outputs, int64_t offset, const float *of_memory,
                          const float *more_of_memory, const float *of_output,
                          const float *more_of_output, float *of_before, float *of_gates,
                          int64_t threads) {
    Step all = {.rows = rows, .cells = cells, .places = places, .peepholes = peepholes};
    all.before = before, all.outputs = outputs, all.offset = offset;
    all.of_memory = of_memory, all.more_of_memory = more_of_memory;
    all.of_output = of_output, all.more_of_output = more_of_output;
    all.of_before = of_before, all.of_gates = of_gates;
    run(go_backward, &all, threads);
}
