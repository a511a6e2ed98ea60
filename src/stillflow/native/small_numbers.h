/* Operations of small_steps.c on every number, and those that reduce them. */
#ifndef STILLFLOW_SMALL_NUMBERS_H
#define STILLFLOW_SMALL_NUMBERS_H

#include "small_values.h"

enum { NUMBERS = 1 << 15 }; /* of a result: for more, torch's loops are faster */

/* ---- one operand */

#define FLOATS(name, expression)                              \
    static int name(Call *call) {                             \
        const Value *in = call->in[0];                        \
        int64_t total = count_of(in);                         \
        NEED(in->kind == FLOAT && total <= NUMBERS);          \
        MAKE(make_like(call, call->out[0], in));              \
        const float *from = floats(in);                       \
        float *to = floats(call->out[0]);                     \
        for (int64_t i = 0; i < total; i++) {                 \
            float x = from[i];                                \
            to[i] = expression;                               \
        }                                                     \
        return DONE;                                          \
    }

FLOATS(exponential_of, expf(x))
FLOATS(log_plus_one, log1pf(x))
FLOATS(logarithm, logf(x))
FLOATS(root, sqrtf(x))
FLOATS(inverse_root, 1 / sqrtf(x))
FLOATS(inverse, 1 / x)
FLOATS(sigmoid_of, 1 / (1 + expf(-x)))
FLOATS(square_of, x * x)
FLOATS(negated_floats, -x)

static int negated(Call *call) {
    const Value *x = call->in[0];
    if (x->kind == FLOAT) return negated_floats(call);
    NEED(is_number(x));
    MAKE(make_like(call, call->out[0], x));
    int64_t total = count_of(x);
    for (int64_t i = 0; i < total; i++) {
        NEED(number_at(x, i) != INT64_MIN);
        put_number(call->out[0], i, -number_at(x, i));
    }
    return DONE;
}

static int not(Call *call) {
    const Value *x = call->in[0];
    MAKE(make_like(call, call->out[0], x));
    int64_t total = count_of(x);
    for (int64_t i = 0; i < total; i++) call->out[0]->data[i] = !x->data[i];
    return DONE;
}

/* ---- two operands */

/* The shape of what two operands give, and the distances of their numbers along it. */
static int pair_up(const Value *x, const Value *y, Value *out, int64_t *xs, int64_t *ys) {
    int64_t rank = x->rank > y->rank ? x->rank : y->rank, x_step = 1, y_step = 1;
    out->rank = rank;
    for (int64_t i = 1; i <= rank; i++) {
        int64_t a = i <= x->rank ? x->dims[x->rank - i] : 1;
        int64_t b = i <= y->rank ? y->dims[y->rank - i] : 1;
        NEED(a == b || a == 1 || b == 1);
        out->dims[rank - i] = a == 1 ? b : a;
        xs[rank - i] = a == 1 ? 0 : x_step;
        ys[rank - i] = b == 1 ? 0 : y_step;
        x_step *= a, y_step *= b;
    }
    return DONE;
}

#define WALK(total, out, statement)                                        \
    do {                                                                   \
        int64_t index_[RANKS] = {0}, i = 0, j = 0;                         \
        for (int64_t n = 0; n < (total); n++) {                            \
            statement;                                                     \
            for (int64_t d_ = (out)->rank - 1; d_ >= 0; d_--) {            \
                i += xs[d_], j += ys[d_];                                  \
                if (++index_[d_] < (out)->dims[d_]) break;                 \
                i -= xs[d_] * (out)->dims[d_], j -= ys[d_] * (out)->dims[d_]; \
                index_[d_] = 0;                                            \
            }                                                              \
        }                                                                  \
    } while (0)

#define PAIRED                                                  \
    const Value *in = call->in[0], *other = call->in[1];        \
    Value *out = call->out[0];                                  \
    int64_t xs[RANKS], ys[RANKS];                               \
    NEED(in->kind == other->kind);                              \
    MAKE(pair_up(in, other, out, xs, ys));                      \
    int64_t total = count_of(out);                              \
    NEED(total <= NUMBERS);                                     \
    MAKE(make(call, out))

#define ARITHMETIC(name, of_floats, of_numbers, condition)                              \
    static int name(Call *call) {                                                       \
        PAIRED;                                                                         \
        if (in->kind == FLOAT) {                                                        \
            const float *a = floats(in), *b = floats(other);                            \
            float *to = floats(out);                                                    \
            if (same_shape(in, other)) {                                                \
                for (int64_t n = 0; n < total; n++) {                                   \
                    float x = a[n], y = b[n];                                           \
                    (void)y;                                                            \
                    to[n] = of_floats;                                                  \
                }                                                                       \
                return DONE;                                                            \
            }                                                                           \
            WALK(total, out, float x = a[i]; float y = b[j]; (void)y; to[n] = of_floats); \
            return DONE;                                                                \
        }                                                                               \
        NEED(is_number(in));                                                            \
        WALK(total, out, uint64_t x = (uint64_t)number_at(in, i);                       \
             uint64_t y = (uint64_t)number_at(other, j); (void)y; NEED(condition);      \
             put_number(out, n, (int64_t)(of_numbers)));                                \
        return DONE;                                                                    \
    }

ARITHMETIC(added, x + y, x + y, 1)
ARITHMETIC(subtracted, x - y, x - y, 1)
ARITHMETIC(multiplied, x * y, x * y, 1)
ARITHMETIC(divided, x / y, x, 0)
ARITHMETIC(difference_squared_of, (x - y) * (x - y), (x - y) * (x - y), 1)
/* Numbers that are not negative alone: the others are rounded otherwise. */
ARITHMETIC(divided_down, x, x / y, in->kind != FLOAT && (int64_t)x >= 0 && (int64_t)y > 0)
ARITHMETIC(larger, x, (int64_t)x > (int64_t)y ? x : y, 1)
ARITHMETIC(smaller, x, (int64_t)x < (int64_t)y ? x : y, 1)

static int of_whole(Call *call, Kernel kernel) {
    NEED(is_number(call->in[0]));
    return kernel(call);
}
static int divided_whole(Call *call) { return of_whole(call, divided_down); }
static int larger_whole(Call *call) { return of_whole(call, larger); }
static int smaller_whole(Call *call) { return of_whole(call, smaller); }

static inline int are_texts_equal(const Value *x, int64_t i, const Value *y, int64_t j) {
    const uint8_t *texts[2];
    int64_t sizes[2];
    int is_text[2];
    is_text[0] = find_texts((const uint8_t *const *)(const void *)x->data + i, 1, texts, sizes) == 1;
    is_text[1] =
        find_texts((const uint8_t *const *)(const void *)y->data + j, 1, texts + 1, sizes + 1) == 1;
    if (!is_text[0] || !is_text[1]) return -1;
    return sizes[0] == sizes[1] && !memcmp(texts[0], texts[1], (size_t)sizes[0]);
}

#define COMPARISON(name, operator, equality)                                             \
    static int name(Call *call) {                                                        \
        PAIRED;                                                                          \
        if (in->kind == FLOAT) {                                                         \
            const float *a = floats(in), *b = floats(other);                             \
            WALK(total, out, out->data[n] = a[i] operator b[j]);                         \
        } else if (in->kind == TEXT) {                                                   \
            NEED(equality);                                                              \
            WALK(total, out, int equal = are_texts_equal(in, i, other, j);               \
                 NEED(equal >= 0); out->data[n] = equal operator 1);                     \
        } else {                                                                         \
            WALK(total, out, out->data[n] = number_at(in, i) operator number_at(other, j)); \
        }                                                                                \
        return DONE;                                                                     \
    }

COMPARISON(equal, ==, 1)
COMPARISON(not_equal, !=, 1)
COMPARISON(less, <, 0)
COMPARISON(less_equal, <=, 0)
COMPARISON(greater, >, 0)
COMPARISON(greater_equal, >=, 0)

#define LOGICAL(name, operator)                                               \
    static int name(Call *call) {                                             \
        PAIRED;                                                               \
        NEED(in->kind == BOOL);                                               \
        WALK(total, out, out->data[n] = in->data[i] operator other->data[j]); \
        return DONE;                                                          \
    }

LOGICAL(both_of, &&)
LOGICAL(either_of, ||)

/* ---- several */

static int select_items(Call *call) {
    const Value *which = call->in[0], *x = call->in[1], *y = call->in[2];
    Value *out = call->out[0];
    int64_t total = count_of(x), item = size_of(x->kind), width;
    NEED(same_shape(x, y) && which->kind == BOOL);
    if (same_shape(which, x))
        width = 1;
    else if (!which->rank)
        width = total;
    else
        width = which->rank == 1 && x->rank && which->dims[0] == x->dims[0] ? inner_of(x, 1) : -1;
    NEED(width >= 0);
    MAKE(make_like(call, out, x));
    for (int64_t at = 0, row = 0; at < total; at += width, row++)
        copy_bytes(out->data + at * item, (which->data[row] ? x : y)->data + at * item,
                   width * item);
    return DONE;
}

/* A copy of rows, with zeros for those that have a flag; the second input is of the same shape. */
static int rows_unless(Call *call) {
    const Value *flags = call->in[0], *x = call->in[2];
    Value *out = call->out[0];
    NEED(flags->rank == 1 && x->rank == 2 && flags->dims[0] == x->dims[0]);
    NEED(same_shape(call->in[1], x));
    MAKE(make_like(call, out, x));
    int64_t width = inner_of(x, 1) * size_of(x->kind);
    for (int64_t i = 0; i < x->dims[0]; i++) {
        if (flags->data[i])
            memset(out->data + i * width, 0, (size_t)width);
        else
            copy_bytes(out->data + i * width, x->data + i * width, width);
    }
    return DONE;
}

static int add_all(Call *call) {
    const Value *first = call->in[0];
    Value *out = call->out[0];
    int64_t total = count_of(first);
    NEED(first->kind == FLOAT && total <= NUMBERS);
    for (int64_t n = 1; n < call->ins; n++) NEED(same_shape(call->in[n], first));
    MAKE(make_like(call, out, first));
    memcpy(out->data, first->data, (size_t)bytes_of(first));
    for (int64_t n = 1; n < call->ins; n++)
        for (int64_t i = 0; i < total; i++) floats(out)[i] += floats(call->in[n])[i];
    return DONE;
}

static int add_bias(Call *call) {
    const Value *x = call->in[0], *bias = call->in[1];
    NEED(call->attrs[0] == 'C' && x->kind == FLOAT && x->rank > 1 && bias->rank == 1);
    int64_t width = bias->dims[0], total = count_of(x);
    NEED(width && x->dims[x->rank - 1] == width && total <= NUMBERS);
    MAKE(make_like(call, call->out[0], x));
    for (int64_t i = 0; i < total; i++)
        floats(call->out[0])[i] = floats(x)[i] + floats(bias)[i % width];
    return DONE;
}

static int add_bias_gradient(Call *call) {
    const Value *x = call->in[0];
    NEED(call->attrs[0] == 'C' && x->kind == FLOAT && x->rank > 1);
    int64_t width = x->dims[x->rank - 1], total = count_of(x);
    NEED(total <= NUMBERS);
    MAKE(make_vector(call, call->out[0], width));
    for (int64_t j = 0; j < width; j++) {
        double sum = 0;
        for (int64_t i = j; i < total; i += width) sum += floats(x)[i];
        floats(call->out[0])[j] = (float)sum;
    }
    return DONE;
}

/* ---- reductions */

enum { ADD, MULTIPLY, LARGEST, LEAST, AVERAGE };

static int reduce(Call *call, int how) {
    const Value *x = call->in[0], *axes = call->in[1];
    Value *out = call->out[0];
    int64_t reduced[RANKS] = {0}, steps[RANKS], index[RANKS] = {0}, step = 1;
    int64_t total = count_of(x), given = count_of(axes), at = 0;
    NEED(is_number(axes) && axes->rank <= 1 && given <= RANKS && total <= NUMBERS);
    NEED(x->kind != TEXT && (x->kind != BOOL || how == LARGEST || how == LEAST));
    NEED(how != AVERAGE || x->kind == FLOAT);
    for (int64_t i = 0; i < given; i++) {
        int64_t axis = axis_of(number_at(axes, i), x->rank);
        NEED(axis >= 0 && !reduced[axis]);
        reduced[axis] = 1;
    }
    for (int64_t i = x->rank - 1; i >= 0; i--) {
        steps[i] = reduced[i] ? 0 : step;
        if (!reduced[i]) step *= x->dims[i];
    }
    out->rank = 0;
    for (int64_t i = 0; i < x->rank; i++) {
        if (!reduced[i]) out->dims[out->rank++] = x->dims[i];
        if (reduced[i] && call->attrs[0]) out->dims[out->rank++] = 1;
    }
    int64_t number = count_of(out);
    NEED(total || (how == ADD && x->kind == FLOAT)); /* what is the largest of nothing? */
    MAKE(make(call, out));
    double *sums = NULL;
    if (x->kind == FLOAT && !(sums = take_room(call->room, number * 8))) return NO_ROOM;
    for (int64_t i = 0; i < number; i++) {
        double start = how == ADD || how == AVERAGE ? 0 : how == MULTIPLY ? 1 : how == LARGEST ? -INFINITY : INFINITY;
        if (sums)
            sums[i] = start;
        else if (x->kind == BOOL)
            out->data[i] = how == LEAST;
        else
            put_number(out, i, how == ADD ? 0 : how == MULTIPLY ? 1 : how == LARGEST ? (x->kind == INT32 ? INT32_MIN : INT64_MIN) : (x->kind == INT32 ? INT32_MAX : INT64_MAX));
    }
    for (int64_t n = 0; n < total; n++) {
        if (sums) {
            double number_ = floats(x)[n], *sum = sums + at;
            NEED(how == ADD || how == AVERAGE || number_ == number_);
            if (how == ADD || how == AVERAGE) *sum += number_;
            if (how == MULTIPLY) *sum *= number_;
            if ((how == LARGEST && number_ > *sum) || (how == LEAST && number_ < *sum)) *sum = number_;
        } else {
            int64_t number_ = number_at(x, n), so_far = number_at(out, at);
            if (how == ADD) number_ = (int64_t)((uint64_t)so_far + (uint64_t)number_);
            if (how == MULTIPLY) number_ = (int64_t)((uint64_t)so_far * (uint64_t)number_);
            if (how == LARGEST && so_far > number_) number_ = so_far;
            if (how == LEAST && so_far < number_) number_ = so_far;
            put_number(out, at, number_);
        }
        for (int64_t i = x->rank - 1; i >= 0; i--) {
            at += steps[i];
            if (++index[i] < x->dims[i]) break;
            at -= steps[i] * x->dims[i];
            index[i] = 0;
        }
    }
    for (int64_t i = 0; sums && i < number; i++)
        floats(out)[i] = (float)(how == AVERAGE ? sums[i] / ((double)total / (double)number) : sums[i]);
    return DONE;
}

static int sum_of(Call *call) { return reduce(call, ADD); }
static int product_of(Call *call) { return reduce(call, MULTIPLY); }
static int largest_of(Call *call) { return reduce(call, LARGEST); }
static int least_of(Call *call) { return reduce(call, LEAST); }
static int mean_of(Call *call) { return reduce(call, AVERAGE); }

/* Whether all integers lie in a range. */
static int within(Call *call) {
    const Value *x = call->in[0];
    int64_t total = count_of(x), outside = 0;
    NEED(is_number(x));
    MAKE(make_scalar(call, call->out[0]));
    for (int64_t i = 0; i < total; i++)
        outside |= number_at(x, i) < call->attrs[0] || number_at(x, i) > call->attrs[1];
    call->out[0]->data[0] = !outside;
    return DONE;
}

/* The axes along which each of two shapes was repeated. */
static int broadcast_axes(Call *call) {
    const Value *shapes_[2] = {call->in[0], call->in[1]};
    int64_t dims[2][RANKS], axes[2][RANKS], counts[2] = {0}, rank = 0;
    for (int64_t n = 0; n < 2; n++) {
        int64_t count = count_of(shapes_[n]);
        NEED(shapes_[n]->rank == 1 && count <= RANKS);
        if (count > rank) rank = count;
    }
    for (int64_t n = 0; n < 2; n++)
        for (int64_t i = 1; i <= rank; i++) {
            int64_t count = count_of(shapes_[n]);
            dims[n][rank - i] = i <= count ? number_at(shapes_[n], count - i) : 1;
        }
    int same_ = 1;
    for (int64_t i = 0; i < rank; i++) {
        int64_t a = dims[0][i], b = dims[1][i];
        NEED(a == b || a == 1 || b == 1);
        same_ &= a == b;
        if (a == 1) axes[0][counts[0]++] = i;
        if (b == 1) axes[1][counts[1]++] = i;
    }
    if (same_ && count_of(shapes_[0]) == count_of(shapes_[1])) counts[0] = counts[1] = 0;
    for (int64_t n = 0; n < 2; n++) {
        MAKE(make_vector(call, call->out[n], counts[n]));
        for (int64_t i = 0; i < counts[n]; i++) put_number(call->out[n], i, axes[n][i]);
    }
    return DONE;
}

static int bucketize(Call *call) {
    const Value *x = call->in[0];
    Value *out = call->out[0];
    int64_t total = count_of(x), bounds = call->attrs[0];
    NEED(x->kind != TEXT && x->kind != BOOL);
    MAKE(make_like(call, out, x));
    for (int64_t i = 0; i < total; i++) {
        int64_t low = 0, high = bounds;
        float number = x->kind == FLOAT ? floats(x)[i] : (float)number_at(x, i);
        NEED(number == number && (x->kind == FLOAT || (number_at(x, i) < (1 << 24) && number_at(x, i) > -(1 << 24))));
        while (low < high) {
            int64_t middle = (low + high) / 2;
            double bound;
            memcpy(&bound, call->attrs + 1 + middle, sizeof bound);
            if ((double)number < bound)
                high = middle;
            else
                low = middle + 1;
        }
        put_number(out, i, low);
    }
    return DONE;
}

#endif
