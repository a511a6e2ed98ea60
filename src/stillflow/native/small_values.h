/* Tensors of few numbers, as small_steps.c has them, and what its operations share. */
#ifndef STILLFLOW_SMALL_VALUES_H
#define STILLFLOW_SMALL_VALUES_H

#include "native.h"

#include <math.h>

/* TEXT: addresses of byte strings of Python; HANDLE: of a variable of floats, or a table. */
enum { FLOAT, INT32, INT64, BOOL, TEXT, HANDLE };
enum { RANKS = 6 };
enum { DONE, GIVE_UP, NO_ROOM };

typedef struct {
    int64_t kind, rank, dims[RANKS];
    uint8_t *data;
} Value;

/* Memory for results: more is given if it is used up. */
typedef struct {
    uint8_t *at, *end;
} Room;

typedef struct {
    Value **in, **out;
    int64_t ins, outs;
    const int64_t *attrs;
    Room *room;
} Call;

typedef int (*Kernel)(Call *call);

static inline int64_t size_of(int64_t kind) {
    return kind == BOOL ? 1 : kind == INT64 || kind == TEXT ? 8 : 4;
}

static inline int64_t count_of(const Value *value) {
    int64_t count = 1;
    for (int64_t i = 0; i < value->rank; i++) count *= value->dims[i];
    return count;
}

/* How many items one row has: of the dimensions from `first` on. */
static inline int64_t inner_of(const Value *value, int64_t first) {
    int64_t count = 1;
    for (int64_t i = first; i < value->rank; i++) count *= value->dims[i];
    return count;
}

static inline int64_t bytes_of(const Value *value) {
    return count_of(value) * size_of(value->kind);
}

static inline void *take_room(Room *room, int64_t bytes) {
    bytes = (bytes + 31) & ~(int64_t)31;
    if (bytes > room->end - room->at) return NULL;
    room->at += bytes;
    return room->at - bytes;
}

/* Finds memory for a result whose shape is set. */
static inline int make(Call *call, Value *value) {
    value->data = take_room(call->room, bytes_of(value));
    return value->data ? DONE : NO_ROOM;
}

static inline void shape_as(Value *value, const Value *like) {
    value->rank = like->rank;
    memcpy(value->dims, like->dims, sizeof like->dims);
}

static inline int make_like(Call *call, Value *value, const Value *like) {
    shape_as(value, like);
    return make(call, value);
}

static inline int make_vector(Call *call, Value *value, int64_t size) {
    value->rank = 1;
    value->dims[0] = size;
    return make(call, value);
}

static inline int make_scalar(Call *call, Value *value) {
    value->rank = 0;
    return make(call, value);
}

static inline int make_rows(Call *call, Value *value, int64_t rows, int64_t columns) {
    value->rank = 2;
    value->dims[0] = rows, value->dims[1] = columns;
    return make(call, value);
}

static inline int is_number(const Value *value) {
    return value->kind == INT32 || value->kind == INT64;
}

static inline int64_t number_at(const Value *value, int64_t i) {
    return value->kind == INT32   ? ((const int32_t *)value->data)[i]
           : value->kind == INT64 ? ((const int64_t *)value->data)[i]
                                  : value->data[i];
}

static inline void put_number(Value *value, int64_t i, int64_t number) {
    if (value->kind == INT32)
        ((int32_t *)value->data)[i] = (int32_t)number;
    else if (value->kind == INT64)
        ((int64_t *)value->data)[i] = number;
    else
        value->data[i] = (uint8_t)(number != 0);
}

static inline float *floats(const Value *value) { return (float *)(void *)value->data; }

/* Reads a vector, or a scalar, of at most `most` whole numbers; returns how many, or -1. */
static inline int64_t numbers_of(const Value *value, int64_t *numbers, int64_t most) {
    int64_t count = count_of(value);
    if (!is_number(value) || value->rank > 1 || count > most) return -1;
    for (int64_t i = 0; i < count; i++) numbers[i] = number_at(value, i);
    return count;
}

/* Sets a shape from a vector of sizes; returns whether it can be one. */
static inline int shape_from(Value *value, const Value *sizes) {
    int64_t total = 1;
    value->rank = numbers_of(sizes, value->dims, RANKS);
    if (value->rank < 0) return 0;
    for (int64_t i = 0; i < value->rank; i++) {
        if (value->dims[i] < 0 || value->dims[i] > (1 << 30)) return 0;
        total *= value->dims[i];
        if (total > (1 << 30)) return 0;
    }
    return 1;
}

static inline int same_shape(const Value *x, const Value *y) {
    return x->rank == y->rank && !memcmp(x->dims, y->dims, (size_t)x->rank * sizeof *x->dims);
}

/* Copies an item, in one instruction if it is a number. */
static inline void copy_bytes(uint8_t *to, const uint8_t *from, int64_t size) {
    if (size == 4)
        memcpy(to, from, 4);
    else if (size == 8)
        memcpy(to, from, 8);
    else
        memcpy(to, from, (size_t)size);
}

/* An axis that may count from the end; -1 if there is none of that number. */
static inline int64_t axis_of(int64_t axis, int64_t rank) {
    if (axis < 0) axis += rank;
    return axis < rank ? axis : -1;
}

#define NEED(condition) \
    do {                \
        if (!(condition)) return GIVE_UP; \
    } while (0)
#define MAKE(call)                       \
    do {                                 \
        int made_ = (call);              \
        if (made_ != DONE) return made_; \
    } while (0)

#endif
