/* Element-wise operations on few numbers, many of them in one call: src/stillflow/ops/math/elements.py.

   A call of one such operation takes longer than its numbers do. The operations, their order and
   their rounding are those of single calls; only exponentials and logarithms are polynomials, and
   sums have an order of their own. Conditions are numbers: 1 and 0. */
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
    SIGMOID_GRADIENT, RELU_GRADIENT, LOGARITHM, LARGER, SMALLER, FINITE, EQUAL, NOT_EQUAL, LESS,
    LESS_EQUAL, GREATER, GREATER_EQUAL, CHOOSE, SUM, MEAN, LARGEST, LEAST
};
enum { LANES = 16 }; /* partial results of a row, taken together */

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

/* Takes numbers of `x` for those of the result where the condition holds. */
INLINE void choose(const Instruction *it, float *to, const float *conditions, const float *x) {
    for (int64_t row = 0; row < it->rows; row++) {
        float *out = to + row * it->out.row;
        const float *when = conditions + row * it->x.row, *xs = x + row * it->y.row;
        if (it->x.column && it->y.column) {
            TURNS_APART
            for (int64_t k = 0; k < it->columns; k++) out[k] = when[k] != 0 ? xs[k] : out[k];
        } else {
            for (int64_t k = 0; k < it->columns; k++)
                out[k] = when[k * it->x.column] != 0 ? xs[k * it->y.column] : out[k];
        }
    }
}

/* Puts `width` numbers into as many lanes. */
#define TAKE(width, from, combined)               \
    for (int64_t i = 0; i < (width); i++) {       \
        float a = lanes[i], b = (from)[i];        \
        lanes[i] = combined;                      \
    }

/* One number of many; comparisons pass over what is not a number. */
#define REDUCED(name, start, combined)                                               \
    INLINE float name##_of_row(const float *x, int64_t count) {                      \
        float lanes[LANES];                                                          \
        int64_t k = 0;                                                               \
        for (int64_t i = 0; i < LANES; i++) lanes[i] = start;                        \
        for (; k + LANES <= count; k += LANES) TAKE(LANES, x + k, combined)          \
        for (; k + LANES / 2 <= count; k += LANES / 2) TAKE(LANES / 2, x + k, combined) \
        TAKE(count - k, x + k, combined)                                             \
        TAKE(LANES / 2, lanes + LANES / 2, combined)                                 \
        TAKE(LANES / 4, lanes + LANES / 4, combined)                                 \
        TAKE(LANES / 8, lanes + LANES / 8, combined)                                 \
        TAKE(1, lanes + 1, combined)                                                 \
        return lanes[0];                                                             \
    }                                                                                \
    INLINE void name##_of_all(const Instruction *it, float *to, const float *from) { \
        int64_t wide = it->out.column ? it->columns : 1;                           \
        for (int64_t row = 0; row < it->rows; row++) {                             \
            float *out = to + row * it->out.row;                                   \
            const float *x = from + row * it->x.row;                               \
            float whole = wide > 1 ? 0 : name##_of_row(x, it->columns);            \
            if (it->out.row || !row)                                               \
                for (int64_t k = 0; k < wide; k++) out[k] = start;                 \
            TURNS_APART                                                            \
            for (int64_t k = 0; k < wide; k++) {                                   \
                float a = out[k], b = wide > 1 ? x[k] : whole;                     \
                out[k] = combined;                                                 \
            }                                                                      \
        }                                                                          \
    }

REDUCED(sum, 0, a + b)
REDUCED(largest, -INFINITY, b > a ? b : a)
REDUCED(least, INFINITY, b < a ? b : a)

INLINE void average(const Instruction *it, float *to, const float *from) {
    int64_t rows = it->out.row ? it->rows : 1, columns = it->out.column ? it->columns : 1;
    float count = (float)(it->rows * it->columns / (rows * columns));
    sum_of_all(it, to, from);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t k = 0; k < columns; k++) to[row * it->out.row + k] /= count;
}

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
        case LOGARITHM: EACH(logarithm(x));
        case LARGER: EACH(x < y ? y : x);
        case SMALLER: EACH(y < x ? y : x);
        case FINITE: EACH(fabsf(x) < INFINITY ? 1.0f : 0.0f);
        case EQUAL: EACH(x == y ? 1.0f : 0.0f);
        case NOT_EQUAL: EACH(x != y ? 1.0f : 0.0f);
        case LESS: EACH(x < y ? 1.0f : 0.0f);
        case LESS_EQUAL: EACH(x <= y ? 1.0f : 0.0f);
        case GREATER: EACH(x > y ? 1.0f : 0.0f);
        case GREATER_EQUAL: EACH(x >= y ? 1.0f : 0.0f);
        case CHOOSE: choose(it, to, from, other); break;
        case SUM: sum_of_all(it, to, from); break;
        case MEAN: average(it, to, from); break;
        case LARGEST: largest_of_all(it, to, from); break;
        case LEAST: least_of_all(it, to, from); break;
    }
}

/* Runs instructions one after the other; operands are numbers of the slots. */
PUBLIC void run_elements(const Instruction *program, int64_t count, float *const *slots) {
    for (const Instruction *it = program; it < program + count; it++)
        run(it, slots[it->out.slot] + it->out.offset, slots[it->x.slot] + it->x.offset,
            slots[it->y.slot] + it->y.offset);
}
