/* A layer of LSTM cells over all time steps: src/stillflow/ops/recurrent/lstm_layer.py.

   The product of a step's output and the recurrent weights is the only part that needs the step
   before. The weights are packed once for all steps, into panels of WIDE columns. An item is a
   panel's cells of some rows: one thread computes their gates and applies the activations while the
   numbers are in its registers. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=fast") /* sums of products, as in a library of matrices */
#else
#pragma STDC FP_CONTRACT ON
#endif
#include "activations.h"

/* As FOR_EACH_PROCESSOR, with the instructions that multiply and add at once. */
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__)
#define FOR_EACH_MULTIPLIER __attribute__((target_clones("avx512f", "arch=haswell", "default")))
#else
#define FOR_EACH_MULTIPLIER
#endif

enum {
    WIDE = 32,       /* columns of a panel */
    TALL = 6,        /* rows whose sums fit into the registers, with vectors of 16 numbers */
    SHORT = 3,       /* with shorter vectors */
    GROUP = 24,      /* rows of an item */
    FEW = 1 << 15    /* products of a step that take less time than waking up another thread */
};

typedef float Vector __attribute__((vector_size(64), aligned(4), may_alias));

typedef struct {
    int64_t steps, rows, cells;
    const int64_t *places;       /* of the input gate, memory, forget gate and output gate */
    double forget_bias;
    const float *weights;        /* [cells, 4 * cells] */
    float *packed;               /* [panels of 32 cells, 4 * cells, 32]: the weights in panels */
    const uint8_t *ended;        /* [steps, rows]: rows that keep their state; or NULL */
    const float *const *gates;   /* by step, [rows, 4 * cells]: the inputs' part, or gradients */
    const float *const *parts[6]; /* by step, [rows, cells]: i, ci, f, o, co, and memory before */
    const float *const *of_outputs; /* by step: gradients of what leaves; or NULL */
    float *results[9];           /* [steps, rows, cells]: i, ci, f, o, co (or NULL), the memory and
                                    output of a step, and the state after it, memory and output */
    float *memory, *output;      /* [rows, cells]: the state before the first step, or gradients */
    int64_t threads;             /* to be set by this code: */
    int64_t step, slots, tall;
} Layer;

enum { I, CI, F, O, CO, MEMORY, OUTPUT, STATE_MEMORY, STATE_OUTPUT };

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* ---- Products of a few rows and a panel */

/* sums[row][panel][column] of rows * panels * 2 vectors. */
INLINE void multiply(const float *x, int64_t stride, int64_t depth, const float *panel,
                     int64_t next_panel, float *out, const int rows, const int panels) {
    Vector sums[TALL * 2 > 8 ? TALL * 2 : 8];
#pragma GCC unroll 16
    for (int k = 0; k < rows * panels * 2; k++) sums[k] = (Vector){0};
    for (int64_t k = 0; k < depth; k++) {
#pragma GCC unroll 8
        for (int p = 0; p < panels; p++) {
            const float *from = panel + p * next_panel + k * WIDE;
            Vector left = *(const Vector *)from, right = *(const Vector *)(from + 16);
#pragma GCC unroll 8
            for (int r = 0; r < rows; r++) {
                float number = x[r * stride + k];
                sums[(r * panels + p) * 2] += number * left;
                sums[(r * panels + p) * 2 + 1] += number * right;
            }
        }
    }
#pragma GCC unroll 16
    for (int k = 0; k < rows * panels * 2; k++) *(Vector *)(out + k * 16) = sums[k];
}

/* Products of up to TALL rows and a panel, to out[row][WIDE]. */
INLINE void multiply_rows(const float *x, int64_t stride, int64_t depth, const float *panel,
                          float *out, int64_t rows) {
    switch (rows) {
    case 1: multiply(x, stride, depth, panel, 0, out, 1, 1); break;
    case 2: multiply(x, stride, depth, panel, 0, out, 2, 1); break;
    case 3: multiply(x, stride, depth, panel, 0, out, 3, 1); break;
    case 4: multiply(x, stride, depth, panel, 0, out, 4, 1); break;
    case 5: multiply(x, stride, depth, panel, 0, out, 5, 1); break;
    default: multiply(x, stride, depth, panel, 0, out, 6, 1); break;
    }
}

/* ---- One step, forward */

INLINE void activate(const Layer *all, int64_t row, int64_t first, int64_t count,
                     const float *const sums[4]) {
    int64_t cells = all->cells, at = (all->step * all->rows + row) * cells + first;
    int64_t here = row * cells + first;
    const float *given = all->gates[all->step] + 4 * row * cells + first;
    const float *gate[4];
    for (int k = 0; k < 4; k++) gate[k] = given + all->places[k] * cells;
    const float *zi = sums[0], *zci = sums[1], *zf = sums[2], *zo = sums[3];
    const float *gi = gate[0], *gci = gate[1], *gf = gate[2], *go = gate[3];
    const float *before = all->step ? all->results[STATE_MEMORY] + at - all->rows * cells
                                    : all->memory + here;
    float i[WIDE], ci[WIDE], f[WIDE], o[WIDE], co[WIDE], bias = (float)all->forget_bias;
    float *memory = all->results[MEMORY] + at, *output = all->results[OUTPUT] + at;
    TURNS_APART
    for (int64_t k = 0; k < count; k++) {
        i[k] = sigmoid(gi[k] + zi[k]);
        ci[k] = hyperbolic_tangent(gci[k] + zci[k]);
        f[k] = sigmoid(gf[k] + zf[k] + bias);
        o[k] = sigmoid(go[k] + zo[k]);
        float sum = i[k] * ci[k] + f[k] * before[k];
        memory[k] = sum;
        co[k] = hyperbolic_tangent(sum);
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
    int64_t cells = all->cells, count = least(WIDE, cells - panel * WIDE);
    const float *weights = all->packed + panel * 4 * cells * WIDE;
    const float *h = all->step ? all->results[STATE_OUTPUT] + (all->step - 1) * all->rows * cells
                               : all->output;
    float sums[4][GROUP * WIDE];
    int64_t rows = end - first;
    if (rows == 1)
        multiply(h + first * cells, cells, cells, weights, cells * WIDE, sums[0], 1, 4);
    for (int gate = 0; gate < 4 && rows > 1; gate++) /* a panel stays in the nearest cache */
        for (int64_t row = 0; row < rows; row += all->tall)
            multiply_rows(h + (first + row) * cells, cells, cells, weights + gate * cells * WIDE,
                          sums[gate] + row * WIDE, least(all->tall, rows - row));
    for (int64_t row = 0; row < rows; row++) {
        const float *own[4];
        for (int gate = 0; gate < 4; gate++)
            own[gate] = rows == 1 ? sums[0] + gate * WIDE : sums[gate] + row * WIDE;
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
    float dh[WIDE];
    for (int64_t k = 0; k < count; k++)
        dh[k] = (ended ? 0.0f : of_state[k]) + (of_output == NULL ? 0.0f : of_output[k]);
    TURNS_APART
    for (int64_t k = 0; k < count; k++) {
        float given = ended ? 0.0f : of_memory[k];
        float dcs = given + dh[k] * o[k] * (1 - co[k] * co[k]);
        gate_o[k] = dh[k] * co[k] * (1 - o[k]) * o[k];
        gate_i[k] = dcs * ci[k] * (1 - i[k]) * i[k];
        gate_ci[k] = dcs * i[k] * (1 - ci[k] * ci[k]);
        gate_f[k] = dcs * before[k] * (1 - f[k]) * f[k];
        of_memory[k] = dcs * f[k] + (ended ? of_memory[k] : 0.0f);
    }
}

/* The gradient of the state before the last step made, by the gradients of its gates. */
INLINE void go_back(const Layer *all, int64_t panel, int64_t first, int64_t end) {
    int64_t cells = all->cells, count = least(WIDE, cells - panel * WIDE), last = all->step - 1;
    const float *weights = all->packed + panel * 4 * cells * WIDE;
    float sums[TALL * WIDE];
    for (int64_t row = first; row < end; row += all->tall) {
        int64_t rows = least(all->tall, end - row);
        multiply_rows(all->gates[last] + 4 * row * cells, 4 * cells, 4 * cells, weights, sums,
                      rows);
        for (int64_t r = 0; r < rows; r++) {
            float *to = all->output + (row + r) * cells + panel * WIDE;
            int ended = all->ended != NULL && all->ended[last * all->rows + row + r];
            for (int64_t k = 0; k < count; k++)
                to[k] = sums[r * WIDE + k] + (ended ? to[k] : 0.0f);
        }
    }
}

INLINE void go_backward_item(const Layer *all, int64_t panel, int64_t first, int64_t end) {
    int64_t count = least(WIDE, all->cells - panel * WIDE);
    if (all->step) go_back(all, panel, first, end);
    if (all->step < all->steps)
        for (int64_t row = first; row < end; row++) differentiate(all, row, panel * WIDE, count);
}

/* ---- All steps */

static int64_t panels_of(const Layer *all) { return (all->cells + WIDE - 1) / WIDE; }
static int64_t groups_of(const Layer *all) { return (all->rows + GROUP - 1) / GROUP; }

/* A thread has the same items in every step: their panels stay in its cache. */
#define EACH_ITEM(do_item)                                                        \
    const Layer *all = data;                                                      \
    int64_t groups = groups_of(all), items = panels_of(all) * groups;             \
    int64_t end = items * (slot + 1) / all->slots;                                \
    for (int64_t item = items * slot / all->slots; item < end; item++) {          \
        int64_t row = item % groups * GROUP;                                      \
        do_item(all, item / groups, row, least(row + GROUP, all->rows));          \
    }

FOR_EACH_MULTIPLIER static void step_forward(void *data, int64_t slot) {
    EACH_ITEM(go_forward_item)
}

FOR_EACH_MULTIPLIER static void step_backward(void *data, int64_t slot) {
    EACH_ITEM(go_backward_item)
}

static void pack_forward(void *data, int64_t panel) {
    const Layer *all = data;
    int64_t cells = all->cells, first = panel * WIDE, count = least(WIDE, cells - first);
    float *to = all->packed + panel * 4 * cells * WIDE;
    for (int gate = 0; gate < 4; gate++)
        for (int64_t k = 0; k < cells; k++, to += WIDE) {
            const float *from = all->weights + (4 * k + all->places[gate]) * cells + first;
            memset(to + count, 0, (size_t)(WIDE - count) * sizeof *to);
            memcpy(to, from, (size_t)count * sizeof *to);
        }
}

static void pack_backward(void *data, int64_t panel) {
    const Layer *all = data;
    int64_t cells = all->cells, first = panel * WIDE, count = least(WIDE, cells - first);
    float *to = all->packed + panel * 4 * cells * WIDE;
    memset(to, 0, (size_t)(4 * cells * WIDE) * sizeof *to);
    enum { TILE = 16 };
    for (int64_t begin = 0; begin < 4 * cells; begin += TILE)
        for (int64_t j = 0; j < count; j++) {
            const float *from = all->weights + (first + j) * 4 * cells;
            for (int64_t k = begin; k < least(begin + TILE, 4 * cells); k++)
                to[k * WIDE + j] = from[k];
        }
}

static void prepare(Layer *all, Work pack) {
    int64_t items = panels_of(all) * groups_of(all);
    all->tall = SHORT;
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("avx512f")) all->tall = TALL;
#endif
    all->slots = all->rows * all->cells * 4 * all->cells < FEW ? 1 : least(all->threads, items);
    in_parallel(pack, all, panels_of(all), all->slots > 1 ? all->threads : 1);
}

/* Fills the results. */
PUBLIC void lstm_layer(Layer *all) {
    prepare(all, pack_forward);
    for (all->step = 0; all->step < all->steps; all->step++)
        in_parallel(step_forward, all, all->slots, all->slots);
}

/* Fills the gradients of the gates. Those of the state after the steps are given, and become those
   of the state before them. */
PUBLIC void lstm_layer_gradient(Layer *all) {
    prepare(all, pack_backward);
    for (all->step = 0; all->step <= all->steps; all->step++)
        in_parallel(step_backward, all, all->slots, all->slots);
}
