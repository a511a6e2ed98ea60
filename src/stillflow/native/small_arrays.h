/* Operations of small_steps.c that give numbers other shapes, places and types. */
#ifndef STILLFLOW_SMALL_ARRAYS_H
#define STILLFLOW_SMALL_ARRAYS_H

#include "small_values.h"

/* The same numbers, in a shape that is set already. */
static inline int see(Call *call) {
    call->out[0]->data = call->in[0]->data;
    return DONE;
}

static int same(Call *call) {
    shape_as(call->out[0], call->in[0]);
    return see(call);
}

static int reshape(Call *call) {
    Value *x = call->in[0], *out = call->out[0];
    int64_t total = 1, open = -1, count = count_of(x);
    out->rank = numbers_of(call->in[1], out->dims, RANKS);
    NEED(out->rank >= 0 && call->in[1]->rank == 1);
    for (int64_t i = 0; i < out->rank; i++) {
        if (out->dims[i] == -1) {
            NEED(open < 0);
            open = i;
            continue;
        }
        NEED(out->dims[i] >= 0 && out->dims[i] <= (1 << 30));
        total *= out->dims[i];
        NEED(total <= (1 << 30));
    }
    if (open >= 0) {
        NEED(total > 0 && count % total == 0);
        out->dims[open] = count / total;
        total = count;
    }
    NEED(total == count);
    return see(call);
}

/* Rows as many as the first number of a vector says. */
static int as_many_rows(Call *call) {
    NEED(call->in[0]->rank && count_of(call->in[1]) > 0);
    NEED(call->in[0]->dims[0] == number_at(call->in[1], 0));
    return same(call);
}

/* Rows as many as a vector has numbers. */
static int as_long(Call *call) {
    NEED(call->in[0]->rank && call->in[1]->rank);
    NEED(call->in[0]->dims[0] == call->in[1]->dims[0]);
    return same(call);
}

static int expand_dims(Call *call) {
    Value *x = call->in[0], *out = call->out[0];
    NEED(count_of(call->in[1]) == 1 && x->rank < RANKS);
    int64_t axis = number_at(call->in[1], 0);
    if (axis < 0) axis += x->rank + 1;
    NEED(axis >= 0 && axis <= x->rank);
    out->rank = x->rank + 1;
    for (int64_t i = 0; i < out->rank; i++)
        out->dims[i] = i == axis ? 1 : x->dims[i - (i > axis)];
    return see(call);
}

static int squeeze(Call *call) {
    Value *x = call->in[0], *out = call->out[0];
    int64_t given = call->attrs[0], drop[RANKS] = {0};
    NEED(given <= RANKS);
    for (int64_t i = 0; i < given; i++) {
        int64_t axis = axis_of(call->attrs[1 + i], x->rank);
        NEED(axis >= 0 && x->dims[axis] == 1);
        drop[axis] = 1;
    }
    out->rank = 0;
    for (int64_t i = 0; i < x->rank; i++)
        if (given ? !drop[i] : x->dims[i] != 1) out->dims[out->rank++] = x->dims[i];
    return see(call);
}

static int shapes(Call *call) {
    for (int64_t n = 0; n < call->outs; n++) {
        Value *x = call->in[n], *out = call->out[n];
        MAKE(make_vector(call, out, x->rank));
        for (int64_t i = 0; i < x->rank; i++) put_number(out, i, x->dims[i]);
    }
    return DONE;
}

static int size(Call *call) {
    MAKE(make_scalar(call, call->out[0]));
    put_number(call->out[0], 0, count_of(call->in[0]));
    return DONE;
}

static int rank(Call *call) {
    MAKE(make_scalar(call, call->out[0]));
    put_number(call->out[0], 0, call->in[0]->rank);
    return DONE;
}

/* How many rows there are. */
static int length(Call *call) {
    NEED(call->in[0]->rank);
    MAKE(make_scalar(call, call->out[0]));
    put_number(call->out[0], 0, call->in[0]->dims[0]);
    return DONE;
}

/* Copies a box of `sizes` that begins at `first`, with these steps; the result's shape is set. */
static int copy_box(Call *call, const int64_t *first, const int64_t *steps, const int64_t *sizes) {
    const Value *x = call->in[0];
    Value *out = call->out[0];
    int64_t item = size_of(x->kind), strides[RANKS + 1], index[RANKS] = {0}, at = 0;
    strides[x->rank] = 1;
    for (int64_t i = x->rank - 1; i >= 0; i--) strides[i] = strides[i + 1] * x->dims[i];
    for (int64_t i = 0; i < x->rank; i++) at += first[i] * strides[i + 1];
    MAKE(make(call, out));
    int64_t total = count_of(out);
    for (int64_t n = 0; n < total; n++) {
        copy_bytes(out->data + n * item, x->data + at * item, item);
        for (int64_t i = x->rank - 1; i >= 0; i--) {
            at += steps[i] * strides[i + 1];
            if (++index[i] < sizes[i]) break;
            at -= steps[i] * strides[i + 1] * sizes[i];
            index[i] = 0;
        }
    }
    return DONE;
}

static int strided_slice(Call *call) {
    const Value *x = call->in[0];
    Value *out = call->out[0];
    int64_t begin[RANKS], end[RANKS], step[RANKS], sizes[RANKS];
    int64_t count = numbers_of(call->in[1], begin, RANKS);
    const int64_t *masks = call->attrs; /* begin, end, ellipsis, new axis, shrink */
    NEED(count >= 0 && count <= x->rank && !masks[2] && !masks[3]);
    NEED(numbers_of(call->in[2], end, RANKS) == count);
    NEED(numbers_of(call->in[3], step, RANKS) == count);
    out->rank = 0;
    for (int64_t i = 0; i < x->rank; i++) {
        int64_t dim = x->dims[i], shrinks = i < count && masks[4] >> i & 1;
        if (i >= count) begin[i] = 0, end[i] = dim, step[i] = 1;
        NEED(step[i] > 0 && (!shrinks || step[i] == 1));
        if (shrinks) {
            if (begin[i] < 0) begin[i] += dim;
            NEED(begin[i] >= 0 && begin[i] < dim);
            sizes[i] = 1;
            continue;
        }
        if (begin[i] < 0) begin[i] += dim;
        if (end[i] < 0) end[i] += dim;
        if (i < count && masks[0] >> i & 1) begin[i] = 0;
        if (i < count && masks[1] >> i & 1) end[i] = dim;
        if (begin[i] < 0) begin[i] = 0;
        if (end[i] > dim) end[i] = dim;
        sizes[i] = end[i] > begin[i] ? (end[i] - begin[i] + step[i] - 1) / step[i] : 0;
        if (!sizes[i]) begin[i] = 0;
        out->dims[out->rank++] = sizes[i];
    }
    return copy_box(call, begin, step, sizes);
}

static int slice(Call *call) {
    const Value *x = call->in[0];
    Value *out = call->out[0];
    int64_t begin[RANKS], sizes[RANKS], steps[RANKS];
    NEED(numbers_of(call->in[1], begin, RANKS) == x->rank);
    NEED(numbers_of(call->in[2], sizes, RANKS) == x->rank);
    out->rank = x->rank;
    for (int64_t i = 0; i < x->rank; i++) {
        NEED(begin[i] >= 0 && begin[i] <= x->dims[i]);
        if (sizes[i] == -1) sizes[i] = x->dims[i] - begin[i];
        NEED(sizes[i] >= 0 && sizes[i] <= x->dims[i] - begin[i]);
        out->dims[i] = sizes[i];
        steps[i] = 1;
    }
    return copy_box(call, begin, steps, sizes);
}

/* Joins inputs, whose items before the axis are `outer`; the result's shape is set. */
static int join(Call *call, int64_t number, int64_t outer) {
    Value *out = call->out[0];
    int64_t item = size_of(out->kind), at = 0, row;
    MAKE(make(call, out));
    row = outer ? bytes_of(out) / outer : 0;
    for (int64_t n = 0; n < number; n++) {
        int64_t width = outer ? count_of(call->in[n]) / outer * item : 0;
        for (int64_t i = 0; i < outer; i++)
            copy_bytes(out->data + i * row + at, call->in[n]->data + i * width, width);
        at += width;
    }
    return DONE;
}

static int pack(Call *call) {
    const Value *first = call->in[0];
    Value *out = call->out[0];
    int64_t axis = axis_of(call->attrs[0], first->rank + 1), outer = 1;
    NEED(axis >= 0 && first->rank < RANKS);
    for (int64_t n = 1; n < call->ins; n++) NEED(same_shape(call->in[n], first));
    out->rank = first->rank + 1;
    for (int64_t i = 0; i < out->rank; i++)
        out->dims[i] = i == axis ? call->ins : first->dims[i - (i > axis)];
    for (int64_t i = 0; i < axis; i++) outer *= first->dims[i];
    return join(call, call->ins, outer);
}

static int concat(Call *call) {
    const Value *first = call->in[0];
    Value *out = call->out[0];
    int64_t number = call->ins - 1, outer = 1;
    NEED(call->in[number]->rank == 0 && first->rank);
    int64_t axis = axis_of(number_at(call->in[number], 0), first->rank);
    NEED(axis >= 0);
    shape_as(out, first);
    for (int64_t n = 1; n < number; n++) {
        NEED(call->in[n]->rank == first->rank);
        for (int64_t i = 0; i < first->rank; i++)
            NEED(i == axis || call->in[n]->dims[i] == first->dims[i]);
        out->dims[axis] += call->in[n]->dims[axis];
    }
    for (int64_t i = 0; i < axis; i++) outer *= first->dims[i];
    return join(call, number, outer);
}

static int concat_offset(Call *call) {
    int64_t count = count_of(call->in[1]), before = 0;
    NEED(call->in[0]->rank == 0);
    int64_t axis = axis_of(number_at(call->in[0], 0), count);
    NEED(axis >= 0);
    for (int64_t n = 0; n < call->outs; n++) {
        const Value *shape = call->in[n + 1];
        NEED(shape->rank == 1 && shape->dims[0] == count);
        MAKE(make_vector(call, call->out[n], count));
        for (int64_t i = 0; i < count; i++) {
            NEED(i == axis || number_at(shape, i) == number_at(call->in[1], i));
            put_number(call->out[n], i, i == axis ? before : 0);
        }
        before += number_at(shape, axis);
    }
    return DONE;
}

static int cast(Call *call) {
    const Value *x = call->in[0];
    Value *out = call->out[0];
    if (x->kind == out->kind) return same(call);
    NEED(x->kind != TEXT && out->kind != TEXT);
    MAKE(make_like(call, out, x));
    int64_t total = count_of(x);
    for (int64_t i = 0; i < total; i++) {
        if (x->kind == FLOAT) {
            float number = floats(x)[i];
            if (out->kind == BOOL) {
                out->data[i] = number != 0;
                continue;
            }
            NEED(number > -2147483648.0f && number < 2147483648.0f);
            put_number(out, i, (int64_t)number);
        } else if (out->kind == FLOAT) {
            floats(out)[i] = (float)number_at(x, i);
        } else {
            put_number(out, i, number_at(x, i));
        }
    }
    return DONE;
}

static int zeros_like(Call *call) {
    NEED(call->in[0]->kind != TEXT);
    MAKE(make_like(call, call->out[0], call->in[0]));
    memset(call->out[0]->data, 0, (size_t)bytes_of(call->out[0]));
    return DONE;
}

static int fill(Call *call) {
    Value *out = call->out[0];
    int64_t item = size_of(out->kind);
    NEED(call->in[0]->rank == 1 && call->in[1]->rank == 0 && shape_from(out, call->in[0]));
    MAKE(make(call, out));
    int64_t total = count_of(out);
    for (int64_t i = 0; i < total; i++) copy_bytes(out->data + i * item, call->in[1]->data, item);
    return DONE;
}

static int ones_like(Call *call) {
    Value *out = call->out[0];
    NEED(out->kind != TEXT);
    MAKE(make_like(call, out, call->in[0]));
    int64_t total = count_of(out);
    for (int64_t i = 0; i < total; i++) {
        if (out->kind == FLOAT)
            floats(out)[i] = 1;
        else
            put_number(out, i, 1);
    }
    return DONE;
}

static int tile(Call *call) {
    const Value *x = call->in[0];
    Value *out = call->out[0];
    int64_t times[RANKS], strides[RANKS + 1], index[RANKS] = {0};
    int64_t item = size_of(x->kind);
    NEED(numbers_of(call->in[1], times, RANKS) == x->rank);
    strides[x->rank] = 1;
    out->rank = x->rank;
    int64_t bound = 1;
    for (int64_t i = x->rank - 1; i >= 0; i--) {
        NEED(times[i] >= 0 && times[i] < (1 << 24));
        strides[i] = strides[i + 1] * x->dims[i];
        out->dims[i] = x->dims[i] * times[i];
        bound *= out->dims[i];
        NEED(bound <= (1 << 24));
    }
    MAKE(make(call, out));
    for (int64_t n = 0; n < bound; n++) {
        int64_t at = 0;
        for (int64_t i = 0; i < x->rank; i++) at += index[i] % x->dims[i] * strides[i + 1];
        copy_bytes(out->data + n * item, x->data + at * item, item);
        for (int64_t i = x->rank - 1; i >= 0 && ++index[i] == out->dims[i]; i--) index[i] = 0;
    }
    return DONE;
}

static int range(Call *call) {
    Value *out = call->out[0];
    NEED(is_number(out));
    for (int64_t i = 0; i < 3; i++) NEED(call->in[i]->rank == 0 && is_number(call->in[i]));
    int64_t start = number_at(call->in[0], 0), limit = number_at(call->in[1], 0);
    int64_t delta = number_at(call->in[2], 0);
    NEED(delta > 0 && start <= limit && limit - start <= (1 << 24) && start >= -(1 << 30));
    MAKE(make_vector(call, out, (limit - start + delta - 1) / delta));
    for (int64_t i = 0; i < out->dims[0]; i++) put_number(out, i, start + i * delta);
    return DONE;
}

/* The numbers of the rows of a tensor. */
static int row_numbers(Call *call) {
    NEED(call->in[0]->rank);
    MAKE(make_vector(call, call->out[0], call->in[0]->dims[0]));
    for (int64_t i = 0; i < call->in[0]->dims[0]; i++) put_number(call->out[0], i, i);
    return DONE;
}

static int transpose(Call *call) {
    const Value *x = call->in[0];
    Value *out = call->out[0];
    int64_t order[RANKS], strides[RANKS + 1], steps[RANKS], index[RANKS] = {0}, seen = 0, at = 0;
    int64_t item = size_of(x->kind);
    NEED(numbers_of(call->in[1], order, RANKS) == x->rank);
    strides[x->rank] = 1;
    for (int64_t i = x->rank - 1; i >= 0; i--) strides[i] = strides[i + 1] * x->dims[i];
    out->rank = x->rank;
    for (int64_t i = 0; i < x->rank; i++) {
        int64_t axis = axis_of(order[i], x->rank);
        NEED(axis >= 0 && !(seen >> axis & 1));
        seen |= 1 << axis;
        out->dims[i] = x->dims[axis];
        steps[i] = strides[axis + 1];
    }
    MAKE(make(call, out));
    int64_t total = count_of(out);
    for (int64_t n = 0; n < total; n++) {
        copy_bytes(out->data + n * item, x->data + at * item, item);
        for (int64_t i = x->rank - 1; i >= 0; i--) {
            at += steps[i];
            if (++index[i] < out->dims[i]) break;
            at -= steps[i] * out->dims[i];
            index[i] = 0;
        }
    }
    return DONE;
}

/* Rows, or what else lies along an axis, by numbers. */
static int take_along(Call *call, int64_t axis) {
    const Value *x = call->in[0], *which = call->in[1];
    Value *out = call->out[0];
    int64_t outer = 1, picked = count_of(which);
    NEED(axis >= 0 && axis < x->rank && is_number(which) && x->rank - 1 + which->rank <= RANKS);
    NEED(size_of(x->kind) == size_of(out->kind));
    out->rank = 0;
    for (int64_t i = 0; i < axis; i++) outer *= out->dims[out->rank++] = x->dims[i];
    for (int64_t i = 0; i < which->rank; i++) out->dims[out->rank++] = which->dims[i];
    for (int64_t i = axis + 1; i < x->rank; i++) out->dims[out->rank++] = x->dims[i];
    MAKE(make(call, out));
    int64_t width = inner_of(x, axis + 1) * size_of(x->kind), rows = x->dims[axis];
    uint8_t *to = out->data;
    for (int64_t n = 0; n < outer; n++)
        for (int64_t i = 0; i < picked; i++, to += width) {
            int64_t row = number_at(which, i);
            NEED(row >= 0 && row < rows);
            copy_bytes(to, x->data + (n * rows + row) * width, width);
        }
    return DONE;
}

static int gather(Call *call) {
    int64_t axis = 0;
    NEED(!call->attrs[0]); /* no batch dimensions */
    if (call->ins > 2) {
        NEED(count_of(call->in[2]) == 1);
        axis = axis_of(number_at(call->in[2], 0), call->in[0]->rank);
    }
    return take_along(call, axis);
}

static int gather_rows(Call *call) { return take_along(call, 0); }

int64_t take_tuples(const uint8_t *table, int64_t item, const int64_t *sizes, int64_t depth,
                    const void *indices, int64_t bytes, int64_t number, uint8_t *out);

static int gather_nd(Call *call) {
    const Value *x = call->in[0], *which = call->in[1];
    Value *out = call->out[0];
    NEED(which->rank > 0 && is_number(which));
    int64_t depth = which->dims[which->rank - 1], number = 1;
    NEED(depth <= x->rank && which->rank - 1 + x->rank - depth <= RANKS);
    out->rank = 0;
    for (int64_t i = 0; i < which->rank - 1; i++)
        number *= out->dims[out->rank++] = which->dims[i];
    for (int64_t i = depth; i < x->rank; i++) out->dims[out->rank++] = x->dims[i];
    MAKE(make(call, out));
    NEED(!take_tuples(x->data, inner_of(x, depth) * size_of(x->kind), x->dims, depth, which->data,
                      size_of(which->kind), number, out->data));
    return DONE;
}

static int where(Call *call) {
    const Value *x = call->in[0];
    Value *out = call->out[0];
    int64_t total = count_of(x), found = 0, rank = x->rank, index[RANKS] = {0};
    NEED(x->kind != TEXT && rank);
    for (int64_t i = 0; i < total; i++)
        found += x->kind == FLOAT ? floats(x)[i] != 0 : number_at(x, i) != 0;
    MAKE(make_rows(call, out, found, rank));
    int64_t *to = (int64_t *)(void *)out->data;
    for (int64_t n = 0; n < total; n++) {
        if (x->kind == FLOAT ? floats(x)[n] != 0 : number_at(x, n) != 0)
            for (int64_t i = 0; i < rank; i++) *to++ = index[i];
        for (int64_t i = rank - 1; i >= 0 && ++index[i] == x->dims[i]; i--) index[i] = 0;
    }
    return DONE;
}

static int one_hot(Call *call) {
    const Value *which = call->in[0];
    Value *out = call->out[0];
    int64_t item = size_of(out->kind), total = count_of(which);
    NEED(call->attrs[0] == -1 && which->rank < RANKS && count_of(call->in[1]) == 1);
    int64_t depth = number_at(call->in[1], 0);
    NEED(depth >= 0 && depth < (1 << 24) && !call->in[2]->rank && !call->in[3]->rank);
    shape_as(out, which);
    out->dims[out->rank++] = depth;
    NEED(total * depth < (1 << 24));
    MAKE(make(call, out));
    for (int64_t i = 0; i < total * depth; i++)
        copy_bytes(out->data + i * item, call->in[3]->data, item);
    for (int64_t i = 0; i < total; i++) {
        int64_t hot = number_at(which, i);
        if (hot >= 0 && hot < depth)
            copy_bytes(out->data + (i * depth + hot) * item, call->in[2]->data, item);
    }
    return DONE;
}

#endif
