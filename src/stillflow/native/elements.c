/* Element-wise operations on few numbers, many of them in one call: src/stillflow/ops/math/elements.py.

   A call of one such operation takes longer than its numbers do. The operations, their order and
   their rounding are those of single calls; only exponentials are polynomials. */
#include "activations.h"

#include <math.h>

/* Numbers of a matrix: where they begin, and the distances of its rows and of its columns, 0 or 1.
   A column of distance 0 is one number for a row. */
typedef struct {
    int64_t slot, offset, row, column;
} Operand;

typedef struct {
    int64_t code, rows, columns;
    Operand out, x, y;
} Instruction;

enum {
    COPY, ADD, SUBTRACT, MULTIPLY, DIVIDE, SQUARED_DIFFERENCE, NEGATE, SQUARE, CUBE, SQUARE_ROOT,
    INVERSE_ROOT, INVERSE, MAGNITUDE, EXPONENTIAL, TANH, SIGMOID, RELU, TANH_GRADIENT,
    SIGMOID_GRADIENT, RELU_GRADIENT
};

INLINE float power_of_e(float x) {
    float value = exponential(x);
    value = x > 88.7228394f ? INFINITY : x > 88.0f ? exponential(x - 1) * 2.71828183f : value;
    return x < -87.0f ? (x < -87.3365448f ? 0.0f : exponential(x + 1) * 0.36787944f) : value;
}

/* Each choice of distances has a loop of its own, which takes many numbers at a time. */
#define EACH(expression)                                             \
    for (int64_t row = 0; row < it->rows; row++) {                   \
        float *out = to + row * it->out.row;                         \
        const float *xs = from + row * it->x.row;                    \
        const float *ys = other + row * it->y.row;                   \
        if (it->x.column && it->y.column) {                          \
            TURNS_APART                                              \
            for (int64_t k = 0; k < it->columns; k++) {              \
                float x = xs[k], y = ys[k];                          \
                (void)y;                                             \
                out[k] = expression;                                 \
            }                                                        \
        } else if (it->x.column) {                                   \
            const float y = *ys;                                     \
            TURNS_APART                                              \
            for (int64_t k = 0; k < it->columns; k++) {              \
                float x = xs[k];                                     \
                (void)y;                                             \
                out[k] = expression;                                 \
            }                                                        \
        } else if (it->y.column) {                                   \
            const float x = *xs;                                     \
            TURNS_APART                                              \
            for (int64_t k = 0; k < it->columns; k++) {              \
                float y = ys[k];                                     \
                (void)y;                                             \
                out[k] = expression;                                 \
            }                                                        \
        } else {                                                     \
            const float x = *xs, y = *ys, value = expression;        \
            (void)y;                                                 \
            for (int64_t k = 0; k < it->columns; k++) out[k] = value; \
        }                                                            \
    }                                                                \
    break

FOR_EACH_PROCESSOR
static void run(const Instruction *it, float *to, const float *from, const float *other) {
    switch (it->code) {
        case COPY: EACH(x);
        case ADD: EACH(x + y);
        case SUBTRACT: EACH(x - y);
        case MULTIPLY: EACH(x * y);
        case DIVIDE: EACH(x / y);
        case SQUARED_DIFFERENCE: EACH((x - y) * (x - y));
        case NEGATE: EACH(-x);
        case SQUARE: EACH(x * x);
        case CUBE: EACH(x * x * x);
        case SQUARE_ROOT: EACH(sqrtf(x));
        case INVERSE_ROOT: EACH(1 / sqrtf(x));
        case INVERSE: EACH(1 / x);
        case MAGNITUDE: EACH(fabsf(x));
        case EXPONENTIAL: EACH(power_of_e(x));
        case TANH: EACH(hyperbolic_tangent(x));
        case SIGMOID: EACH(sigmoid(x));
        case RELU: EACH(x < 0 ? 0.0f : x);
        case TANH_GRADIENT: EACH(x * (1 - y * y));
        case SIGMOID_GRADIENT: EACH(x * (1 - y) * y);
        case RELU_GRADIENT: EACH(y > 0 ? x : x * 0.0f);
    }
}

/* Runs instructions one after the other; operands are numbers of the slots. */
PUBLIC void run_elements(const Instruction *program, int64_t count, float *const *slots) {
    for (const Instruction *it = program; it < program + count; it++)
        run(it, slots[it->out.slot] + it->out.offset, slots[it->x.slot] + it->x.offset,
            slots[it->y.slot] + it->y.offset);
}
