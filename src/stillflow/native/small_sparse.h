/* Operations of small_steps.c on sparse tensors, segments, rows of tables and byte strings. */
#ifndef STILLFLOW_SMALL_SPARSE_H
#define STILLFLOW_SMALL_SPARSE_H

#include "small_values.h"

/* Of sparse.c, objects.c and farmhash.c. */
int64_t find_distinct(const void *items, int64_t bytes, int64_t size, void *distinct, void *places,
                      int64_t place_bytes);
int64_t add_rows(const float *data, int64_t number, int64_t width, const void *ids, int64_t bytes,
                 float *out, int64_t rows);
int64_t reduce_picked(const float *table, int64_t rows, int64_t width, const void *indices,
                      int64_t bytes, const void *names, int64_t name_bytes, int64_t name_count,
                      const void *ids, int64_t id_bytes, int64_t number, int64_t mode,
                      const uint8_t *left_out, float *out, int64_t segments);
int64_t spread_picked(const float *grad, int64_t stride, int64_t segments, int64_t width,
                      const void *indices, int64_t bytes, const void *ids, int64_t id_bytes,
                      int64_t number, int64_t mode, const uint8_t *left_out, float *out,
                      int64_t rows);
void reshape_indices(const int64_t *indices, int64_t number, const int64_t *shape, int64_t rank,
                     const int64_t *new_shape, int64_t new_rank, int64_t *out);
int64_t are_in_order(const int64_t *indices, int64_t number, int64_t rank, const int64_t *shape);
int64_t find_empty_rows(const int64_t *indices, int64_t number, int64_t rank, int64_t rows,
                        int64_t *ends, uint8_t *empty);
void fill_empty_rows(const int64_t *indices, const uint8_t *values, int64_t item, int64_t number,
                     int64_t rank, int64_t rows, const uint8_t *value, int64_t *ends,
                     const uint8_t *empty, int64_t *out_indices, uint8_t *out_values, int64_t *map);
int64_t find_elements(const void *items, int64_t bytes, int64_t ignored, const int64_t *sizes,
                      int64_t rank, int64_t *indices, void *out);
int64_t find_lookups(const int64_t *indices, int64_t rank, const int64_t *ids, int64_t number,
                     int64_t rows, int64_t id_of_empty, uint8_t *empty, int32_t *segments,
                     int64_t *distinct, int32_t *places, int64_t *room, int64_t *counts);
int64_t count_crosses(const int64_t *const *indices, const int64_t *sizes, int64_t columns,
                      int64_t rows, int64_t *starts, int64_t *counts, int64_t *widest);
void hash_crosses(const uint64_t *const *words, int64_t columns, int64_t rows,
                  const int64_t *starts, const int64_t *counts, int64_t key, uint64_t limit,
                  int64_t *room, int64_t *places, int64_t *out);
void find_numbers(const uint8_t *const *known, const int64_t *known_sizes, int64_t *slots,
                  int64_t slots_count, const uint8_t *const *texts, const int64_t *sizes,
                  int64_t count, int64_t *places);
void find_fingerprints(const uint8_t *const *texts, const int64_t *sizes, int64_t count,
                       uint64_t *out);

static inline const int64_t *longs(const Value *value) {
    return (const int64_t *)(const void *)value->data;
}

/* ---- distinct numbers, and rows by number */

static int unique(Call *call) {
    const Value *x = call->in[0];
    NEED(x->rank == 1 && is_number(x));
    MAKE(make_like(call, call->out[0], x));
    MAKE(make_like(call, call->out[1], x));
    int64_t found = find_distinct(x->data, size_of(x->kind), x->dims[0], call->out[0]->data,
                                  call->out[1]->data, size_of(call->out[1]->kind));
    NEED(found >= 0);
    call->out[0]->dims[0] = found;
    return DONE;
}

/* Sums of rows by number, as many as are asked for. */
static int sum_rows(Call *call, const Value *data, const Value *ids, int64_t rows, Value *out) {
    NEED(data->kind == FLOAT && is_number(ids) && ids->rank <= data->rank && rows >= 0);
    NEED(rows < (1 << 24) && data->rank - ids->rank < RANKS);
    for (int64_t i = 0; i < ids->rank; i++) NEED(ids->dims[i] == data->dims[i]);
    out->rank = 1 + data->rank - ids->rank;
    out->dims[0] = rows;
    for (int64_t i = ids->rank; i < data->rank; i++) out->dims[1 + i - ids->rank] = data->dims[i];
    MAKE(make(call, out));
    NEED(!add_rows(floats(data), count_of(ids), inner_of(data, ids->rank), ids->data,
                   size_of(ids->kind), floats(out), rows));
    return DONE;
}

static int unsorted_segment_sum(Call *call) {
    NEED(call->in[2]->rank == 0);
    return sum_rows(call, call->in[0], call->in[1], number_at(call->in[2], 0), call->out[0]);
}

/* How many segments there are of ids in order; -1 if they are not. */
static int64_t segments_of(const Value *ids) {
    int64_t count = ids->dims[0], last = 0;
    if (!is_number(ids) || ids->rank != 1) return -1;
    for (int64_t i = 0; i < count; i++) {
        if (number_at(ids, i) < last) return -1;
        last = number_at(ids, i);
    }
    return count ? last + 1 : 0;
}

static int segment_sum(Call *call) {
    int64_t rows = segments_of(call->in[1]);
    NEED(rows >= 0 && call->in[0]->rank);
    return sum_rows(call, call->in[0], call->in[1], rows, call->out[0]);
}

/* The distinct numbers of rows, and the sums of the rows with each. */
static int sums_of_rows(Call *call) {
    const Value *ids = call->in[0];
    Value places = {INT64, 1, {0}, NULL};
    NEED(ids->rank == 1 && is_number(ids));
    MAKE(make_like(call, call->out[0], ids));
    MAKE(make_like(call, &places, ids));
    int64_t found = find_distinct(ids->data, size_of(ids->kind), ids->dims[0], call->out[0]->data,
                                  places.data, 8);
    NEED(found >= 0);
    call->out[0]->dims[0] = found;
    return sum_rows(call, call->in[1], &places, found, call->out[1]);
}

/* Rows of a table: attributes are the mode; segments come from the ids, or from the flags. */
static int reduce_rows(Call *call, const Value *table, const Value *names, const Value *indices,
                       const Value *ids, const Value *flags, int64_t mode) {
    Value *out = call->out[0];
    NEED((table->kind == FLOAT || table->kind == HANDLE) && table->rank && is_number(indices) && indices->rank == 1);
    NEED(is_number(ids) && ids->rank == 1 && ids->dims[0] == indices->dims[0]);
    int64_t rows = flags ? flags->dims[0] : segments_of(ids);
    NEED(rows >= 0 && rows < (1 << 24) && (!flags || flags->rank == 1));
    NEED(!names || (is_number(names) && names->rank == 1));
    shape_as(out, table);
    out->dims[0] = rows;
    MAKE(make(call, out));
    NEED(!reduce_picked(floats(table), table->dims[0], inner_of(table, 1), indices->data,
                        size_of(indices->kind), names ? names->data : NULL,
                        names ? size_of(names->kind) : 0, names ? names->dims[0] : 0, ids->data,
                        size_of(ids->kind), ids->dims[0], mode, flags ? flags->data : NULL,
                        floats(out), rows));
    return DONE;
}

static int rows_looked_up(Call *call) {
    Value **in = call->in;
    return reduce_rows(call, in[0], in[1], in[2], in[3], in[4], call->attrs[0]);
}
static int segment_sums(Call *call) {
    return reduce_rows(call, call->in[0], NULL, call->in[1], call->in[2], NULL, 0);
}
static int segment_means(Call *call) {
    return reduce_rows(call, call->in[0], NULL, call->in[1], call->in[2], NULL, 1);
}
static int segment_roots(Call *call) {
    return reduce_rows(call, call->in[0], NULL, call->in[1], call->in[2], NULL, 2);
}

static int spread_rows(Call *call, const Value *grad, const Value *indices, const Value *ids,
                       const Value *size, const Value *flags, int64_t mode) {
    Value *out = call->out[0];
    NEED(grad->kind == FLOAT && grad->rank && is_number(indices) && indices->rank == 1);
    NEED(is_number(ids) && ids->rank == 1 && ids->dims[0] == indices->dims[0] && !size->rank);
    NEED(!flags || (flags->rank == 1 && flags->dims[0] == grad->dims[0]));
    int64_t rows = number_at(size, 0);
    NEED(rows >= 0 && rows < (1 << 24));
    shape_as(out, grad);
    out->dims[0] = rows;
    MAKE(make(call, out));
    NEED(!spread_picked(floats(grad), inner_of(grad, 1), grad->dims[0], inner_of(grad, 1),
                        indices->data, size_of(indices->kind), ids->data, size_of(ids->kind),
                        ids->dims[0], mode, flags ? flags->data : NULL, floats(out), rows));
    return DONE;
}

static int gradients_spread(Call *call) {
    Value **in = call->in;
    NEED(same_shape(in[1], in[2]));
    return spread_rows(call, in[2], in[3], in[4], in[5], in[0], call->attrs[0]);
}
static int segment_means_gradient(Call *call) {
    return spread_rows(call, call->in[0], call->in[1], call->in[2], call->in[3], NULL, 1);
}
static int segment_roots_gradient(Call *call) {
    return spread_rows(call, call->in[0], call->in[1], call->in[2], call->in[3], NULL, 2);
}

/* Rows in the order in which a vector numbers them: they are the sums already. */
static int rows_in_order(Call *call) {
    NEED(call->in[0]->rank && call->in[1]->rank == 1);
    NEED(call->in[0]->dims[0] == call->in[1]->dims[0]);
    shape_as(call->out[0], call->in[0]);
    call->out[0]->data = call->in[0]->data;
    return DONE;
}

/* ---- sparse tensors */

static int is_sparse(const Value *indices, const Value *values, const Value *shape) {
    return indices->kind == INT64 && indices->rank == 2 && values->rank == 1 &&
           shape->rank == 1 && shape->kind == INT64 && indices->dims[0] == values->dims[0] &&
           indices->dims[1] == shape->dims[0] && shape->dims[0] > 0 && shape->dims[0] <= RANKS;
}

static int fill_rows(Call *call) {
    const Value *indices = call->in[0], *values = call->in[1], *shape = call->in[2];
    NEED(is_sparse(indices, values, shape) && !call->in[3]->rank && values->dims[0]);
    int64_t number = values->dims[0], rank = shape->dims[0], rows = longs(shape)[0];
    NEED(rows > 0 && rows < (1 << 24));
    int64_t *ends = take_room(call->room, rows * 8);
    if (!ends) return NO_ROOM;
    MAKE(make_vector(call, call->out[2], rows));
    int64_t more = find_empty_rows(longs(indices), number, rank, rows, ends, call->out[2]->data);
    NEED(more >= 0);
    MAKE(make_rows(call, call->out[0], number + more, rank));
    MAKE(make_vector(call, call->out[1], number + more));
    MAKE(make_vector(call, call->out[3], number));
    fill_empty_rows(longs(indices), values->data, size_of(values->kind), number, rank, rows,
                    call->in[3]->data, ends, call->out[2]->data,
                    (int64_t *)(void *)call->out[0]->data, call->out[1]->data,
                    (int64_t *)(void *)call->out[3]->data);
    return DONE;
}

/* Ids for an embedding lookup: attributes are the id of rows without any. */
static int prepared_ids(Call *call) {
    const Value *indices = call->in[0], *ids = call->in[1], *shape = call->in[2];
    Value **out = call->out;
    NEED(is_sparse(indices, ids, shape) && ids->kind == INT64);
    NEED(out[1]->kind == INT32 && out[2]->kind == INT64 && out[3]->kind == INT32);
    int64_t rows = longs(shape)[0], number = ids->dims[0], counts[2];
    NEED(rows >= 0 && rows < (1 << 24));
    MAKE(make_vector(call, out[0], rows));
    for (int i = 1; i < 4; i++) MAKE(make_vector(call, out[i], number + rows));
    int64_t *spare = take_room(call->room, (number + rows) * 16);
    if (!spare) return NO_ROOM;
    NEED(!find_lookups(longs(indices), shape->dims[0], longs(ids), number, rows, call->attrs[0],
                       out[0]->data, (int32_t *)(void *)out[1]->data,
                       (int64_t *)(void *)out[2]->data, (int32_t *)(void *)out[3]->data, spare,
                       counts));
    out[1]->dims[0] = out[3]->dims[0] = counts[0];
    out[2]->dims[0] = counts[1];
    return DONE;
}

/* The elements that are not `attrs[0]`, and where they stand. */
static int elements_unlike(Call *call) {
    const Value *x = call->in[0];
    int64_t total = count_of(x);
    NEED(is_number(x) && x->rank);
    MAKE(make_rows(call, call->out[0], total, x->rank));
    MAKE(make_vector(call, call->out[1], total));
    call->out[0]->dims[0] = call->out[1]->dims[0] =
        find_elements(x->data, size_of(x->kind), call->attrs[0], x->dims, x->rank,
                      (int64_t *)(void *)call->out[0]->data, call->out[1]->data);
    return DONE;
}

static int sparse_reshape(Call *call) {
    const Value *indices = call->in[0];
    int64_t given[RANKS], wanted[RANKS], total = 1, known = 1, open = -1;
    int64_t rank = numbers_of(call->in[1], given, RANKS);
    int64_t new_rank = numbers_of(call->in[2], wanted, RANKS);
    NEED(indices->kind == INT64 && indices->rank == 2 && rank > 0 && new_rank > 0);
    NEED(indices->dims[1] == rank && call->in[1]->rank == 1 && call->in[2]->rank == 1);
    for (int64_t i = 0; i < rank; i++) {
        NEED(given[i] >= 0 && given[i] <= INT32_MAX);
        total *= given[i];
        NEED(total <= INT32_MAX);
    }
    for (int64_t i = 0; i < new_rank; i++) {
        NEED(wanted[i] >= -1 && wanted[i] <= INT32_MAX && (wanted[i] >= 0 || open < 0));
        if (wanted[i] < 0)
            open = i;
        else
            known *= wanted[i];
        NEED(known <= INT32_MAX);
    }
    if (open >= 0) {
        NEED(known > 0 && total % known == 0);
        wanted[open] = total / known;
        known = total;
    }
    NEED(known == total);
    MAKE(make_vector(call, call->out[1], new_rank));
    for (int64_t i = 0; i < new_rank; i++) put_number(call->out[1], i, wanted[i]);
    if (new_rank == rank && !memcmp(given, wanted, (size_t)rank * sizeof *given)) {
        shape_as(call->out[0], indices);
        call->out[0]->data = indices->data;
        return DONE;
    }
    MAKE(make_rows(call, call->out[0], indices->dims[0], new_rank));
    reshape_indices(longs(indices), indices->dims[0], given, rank, wanted, new_rank,
                    (int64_t *)(void *)call->out[0]->data);
    return DONE;
}

/* A reshape of a matrix to its own shape. */
static int same_matrix(Call *call) {
    const Value *indices = call->in[0], *shape = call->in[1];
    NEED(indices->rank == 2 && indices->dims[1] == 2 && shape->rank == 1 && shape->dims[0] == 2);
    int64_t height = number_at(shape, 0), width = number_at(shape, 1);
    NEED(height > 0 && width > 0 && height <= INT32_MAX && width <= INT32_MAX / height);
    for (int n = 0; n < 2; n++) {
        shape_as(call->out[n], call->in[n]);
        call->out[n]->data = call->in[n]->data;
    }
    return DONE;
}

static int sparse_to_dense(Call *call) {
    const Value *indices = call->in[0], *values = call->in[2];
    Value *out = call->out[0];
    int64_t item = size_of(out->kind), number = values->rank ? values->dims[0] : 0;
    NEED(indices->kind == INT64 && indices->rank == 2 && values->rank == 1 && !call->in[3]->rank);
    NEED(call->in[1]->rank == 1 && shape_from(out, call->in[1]) && out->rank == indices->dims[1]);
    NEED(indices->dims[0] == number && count_of(out) < (1 << 24));
    NEED(are_in_order(longs(indices), number, out->rank, out->dims));
    MAKE(make(call, out));
    int64_t total = count_of(out);
    for (int64_t i = 0; i < total; i++) copy_bytes(out->data + i * item, call->in[3]->data, item);
    for (int64_t i = 0; i < number; i++) {
        int64_t at = 0;
        for (int64_t j = 0; j < out->rank; j++)
            at = at * out->dims[j] + longs(indices)[i * out->rank + j];
        copy_bytes(out->data + at * item, values->data + i * item, item);
    }
    return DONE;
}

/* ---- byte strings */

/* Where the bytes of strings are, and how many. */
static int read_texts(Call *call, const Value *x, const uint8_t ***texts, int64_t **sizes) {
    int64_t total = count_of(x);
    NEED(x->kind == TEXT);
    *texts = take_room(call->room, total * 8);
    *sizes = take_room(call->room, total * 8);
    if (!*texts || !*sizes) return NO_ROOM;
    NEED(find_texts((const uint8_t *const *)(const void *)x->data, total, *texts, *sizes) == total);
    return DONE;
}

static int hash_texts(Call *call) {
    const uint8_t **texts;
    int64_t *sizes, total = count_of(call->in[0]);
    MAKE(read_texts(call, call->in[0], &texts, &sizes));
    MAKE(make_like(call, call->out[0], call->in[0]));
    uint64_t *out = (uint64_t *)(void *)call->out[0]->data;
    NEED(call->attrs[0] > 0);
    find_fingerprints(texts, sizes, total, out);
    for (int64_t i = 0; i < total; i++) out[i] %= (uint64_t)call->attrs[0];
    return DONE;
}

/* A table of strings, and numbers by them. */
typedef struct {
    const uint8_t *const *texts;
    const int64_t *sizes;
    int64_t *slots, slots_count;
    const uint8_t *values;
    int64_t kind; /* of the values */
} Table;

static int look_up(Call *call) {
    const Table *table = (const Table *)(const void *)call->in[0]->data;
    const Value *keys = call->in[1];
    Value *out = call->out[0];
    const uint8_t **texts;
    int64_t *sizes, total = count_of(keys), item = size_of(out->kind);
    NEED(table->kind == out->kind && !call->in[2]->rank && call->in[2]->kind == out->kind);
    MAKE(read_texts(call, keys, &texts, &sizes));
    MAKE(make_like(call, out, keys));
    int64_t *places = take_room(call->room, total * 8);
    if (!places) return NO_ROOM;
    find_numbers(table->texts, table->sizes, table->slots, table->slots_count, texts, sizes, total,
                 places);
    for (int64_t i = 0; i < total; i++)
        copy_bytes(out->data + i * item,
                   places[i] < 0 ? call->in[2]->data : table->values + places[i] * item, item);
    return DONE;
}

/* Crosses of columns: attributes are how many are sparse, and how they are hashed. */
static int cross(Call *call) {
    int64_t sparse = call->attrs[0], buckets = call->attrs[2], count = call->ins - 2 * sparse;
    int64_t rows = -1, widest;
    Value **out = call->out;
    NEED(call->attrs[1] && out[1]->kind == INT64 && count > 0);
    const int64_t **indices = take_room(call->room, count * 8);
    const uint64_t **words = take_room(call->room, count * 8);
    int64_t *sizes = take_room(call->room, count * 8);
    int64_t *spare = take_room(call->room, (2 * count + 1) * 8);
    if (!indices || !words || !sizes || !spare) return NO_ROOM;
    for (int64_t n = 0; n < count; n++) {
        const Value *values = call->in[n < sparse ? sparse + n : 2 * sparse + n];
        int64_t height;
        if (n < sparse) {
            const Value *shape = call->in[2 * sparse + n];
            NEED(is_sparse(call->in[n], values, shape) && shape->dims[0] == 2);
            indices[n] = longs(call->in[n]);
            sizes[n] = values->dims[0];
            height = longs(shape)[0];
        } else {
            NEED(values->rank == 2);
            indices[n] = NULL;
            sizes[n] = values->dims[1];
            height = values->dims[0];
        }
        NEED((rows < 0 || height == rows) && height >= 0 && height < (1 << 24));
        rows = height;
        NEED(values->kind == INT64 || values->kind == TEXT);
        words[n] = (const uint64_t *)(const void *)values->data;
        if (values->kind == TEXT) {
            const uint8_t **texts;
            int64_t *lengths, total = count_of(values);
            MAKE(read_texts(call, values, &texts, &lengths));
            uint64_t *found = take_room(call->room, total * 8);
            if (!found) return NO_ROOM;
            find_fingerprints(texts, lengths, total, found);
            words[n] = found;
        }
    }
    int64_t *starts = take_room(call->room, count * rows * 8);
    int64_t *counts = take_room(call->room, count * rows * 8);
    if (!starts || !counts) return NO_ROOM;
    int64_t total = count_crosses(indices, sizes, count, rows, starts, counts, &widest);
    NEED(total >= 0 && total < (1 << 24));
    MAKE(make_rows(call, out[0], total, 2));
    MAKE(make_vector(call, out[1], total));
    MAKE(make_vector(call, out[2], 2));
    hash_crosses(words, count, rows, starts, counts, call->attrs[3],
                 buckets > 0 ? (uint64_t)buckets : (uint64_t)INT64_MAX, spare,
                 (int64_t *)(void *)out[0]->data, (int64_t *)(void *)out[1]->data);
    put_number(out[2], 0, rows);
    put_number(out[2], 1, widest);
    return DONE;
}

#endif
