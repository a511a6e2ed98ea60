/* Programs of steps on few numbers, many of them in one call: src/stillflow/ops/small_steps.py.

   A graph of feature columns has hundreds of operations, each on as many numbers as there are
   examples, with shapes that only the run knows: to call one takes a hundred times as long as to
   compute it. A step that is not what it mostly is (an index out of range, many numbers) ends the
   program: whoever called runs the operations one by one, which say what is wrong. */
#include "small_values.h"

int64_t find_texts(const uint8_t *const *objects, int64_t count, const uint8_t **texts,
                   int64_t *sizes);
void keep_object(void *object, void **place);

#include "small_arrays.h"
#include "small_numbers.h"
#include "small_sparse.h"

/* The steps by operation, or by the name that a kernel has for itself, with their attributes. */
static const struct {
    const char *name;
    Kernel kernel;
    const char *attributes;
} steps[] = {
    {"Reshape", reshape, ""},
    {"as_many_rows", as_many_rows, ""},
    {"as_long_as", as_long, ""},
    {"ExpandDims", expand_dims, ""},
    {"Squeeze", squeeze, "squeeze_dims"},
    {"Shape", shapes, ""},
    {"ShapeN", shapes, ""},
    {"Size", size, ""},
    {"Rank", rank, ""},
    {"length", length, ""},
    {"StridedSlice", strided_slice,
     "begin_mask end_mask ellipsis_mask new_axis_mask shrink_axis_mask"},
    {"Slice", slice, ""},
    {"Pack", pack, "axis"},
    {"ConcatV2", concat, ""},
    {"ConcatOffset", concat_offset, ""},
    {"Cast", cast, ""},
    {"ZerosLike", zeros_like, ""},
    {"OnesLike", ones_like, ""},
    {"Fill", fill, ""},
    {"Tile", tile, ""},
    {"Range", range, ""},
    {"row_numbers", row_numbers, ""},
    {"Transpose", transpose, ""},
    {"GatherV2", gather, "batch_dims"},
    {"Gather", gather_rows, ""},
    {"ResourceGather", gather, "batch_dims"},
    {"GatherNd", gather_nd, ""},
    {"Where", where, ""},
    {"OneHot", one_hot, "axis"},
    {"Neg", negated, ""},
    {"Exp", exponential_of, ""},
    {"Log1p", log_plus_one, ""},
    {"Log", logarithm, ""},
    {"Sqrt", root, ""},
    {"Rsqrt", inverse_root, ""},
    {"Reciprocal", inverse, ""},
    {"Inv", inverse, ""},
    {"Sigmoid", sigmoid_of, ""},
    {"Square", square_of, ""},
    {"LogicalNot", not, ""},
    {"Add", added, ""},
    {"AddV2", added, ""},
    {"Sub", subtracted, ""},
    {"Mul", multiplied, ""},
    {"RealDiv", divided, ""},
    {"FloorDiv", divided_whole, ""},
    {"Maximum", larger_whole, ""},
    {"Minimum", smaller_whole, ""},
    {"SquaredDifference", difference_squared_of, ""},
    {"Equal", equal, ""},
    {"NotEqual", not_equal, ""},
    {"Less", less, ""},
    {"LessEqual", less_equal, ""},
    {"Greater", greater, ""},
    {"GreaterEqual", greater_equal, ""},
    {"LogicalAnd", both_of, ""},
    {"LogicalOr", either_of, ""},
    {"Select", select_items, ""},
    {"rows_unless", rows_unless, ""},
    {"AddN", add_all, ""},
    {"BiasAdd", add_bias, "data_format"},
    {"BiasAddGrad", add_bias_gradient, "data_format"},
    {"Sum", sum_of, "keep_dims"},
    {"Prod", product_of, "keep_dims"},
    {"Max", largest_of, "keep_dims"},
    {"Min", least_of, "keep_dims"},
    {"Mean", mean_of, "keep_dims"},
    {"All", least_of, "keep_dims"},
    {"Any", largest_of, "keep_dims"},
    {"within", within, ""},
    {"BroadcastGradientArgs", broadcast_axes, ""},
    {"Bucketize", bucketize, "boundaries"},
    {"Unique", unique, ""},
    {"UnsortedSegmentSum", unsorted_segment_sum, ""},
    {"SegmentSum", segment_sum, ""},
    {"sums_of_rows", sums_of_rows, ""},
    {"rows_looked_up", rows_looked_up, ""},
    {"SparseSegmentSum", segment_sums, ""},
    {"SparseSegmentMean", segment_means, ""},
    {"SparseSegmentSqrtN", segment_roots, ""},
    {"gradients_spread", gradients_spread, ""},
    {"SparseSegmentMeanGrad", segment_means_gradient, ""},
    {"SparseSegmentSqrtNGrad", segment_roots_gradient, ""},
    {"rows_in_order", rows_in_order, ""},
    {"SparseFillEmptyRows", fill_rows, ""},
    {"prepared_ids", prepared_ids, ""},
    {"elements_unlike", elements_unlike, ""},
    {"SparseReshape", sparse_reshape, ""},
    {"same_matrix", same_matrix, ""},
    {"SparseToDense", sparse_to_dense, ""},
    {"StringToHashBucketFast", hash_texts, "num_buckets"},
    {"LookupTableFindV2", look_up, ""},
    {"SparseCross", cross, "N hashed_output num_buckets hash_key"},
};

/* The number of a step, and the names of its attributes; -1 if there is none of this name. */
PUBLIC int64_t find_step(const char *name, const char **attributes) {
    for (int64_t i = 0; i < (int64_t)(sizeof steps / sizeof *steps); i++)
        if (!strcmp(steps[i].name, name)) {
            *attributes = steps[i].attributes;
            return i;
        }
    return -1;
}

enum { OPERANDS = 64 };

/* Runs a program.

   values: all values of it, of which the constants have numbers; changed.
   words: for each step its number, how many words there are behind it, how many inputs and
     results it has, and their numbers among the values; then attributes.
   given: of each input its address, rank and sizes; the first values are the inputs.
   carried: for each of `carries` values more its number here, that of a program among `sources`,
     which are the values of others, and its number there.
   memory: for results, of `size` bytes.
   Returns 0; else 1 + the number of the step that gave up, or -1 without memory. */
PUBLIC int64_t run_steps(Value *values, const int64_t *words, int64_t count, const int64_t *given,
                         int64_t inputs, const Value *const *sources, const int64_t *carried,
                         int64_t carries, uint8_t *memory, int64_t size) {
    Room room = {memory, memory + size};
    for (; carries > 0; carries--, carried += 3)
        values[carried[0]] = sources[carried[1]][carried[2]];
    for (int64_t i = 0; i < inputs; i++) {
        values[i].data = (uint8_t *)(intptr_t)*given++;
        values[i].rank = *given++;
        if (values[i].rank > RANKS) return 1;
        for (int64_t j = 0; j < values[i].rank; j++) values[i].dims[j] = *given++;
    }
    for (int64_t n = 0; n < count; n++) {
        Value *operands[OPERANDS];
        int64_t ins = words[2], outs = words[3];
        for (int64_t i = 0; i < ins + outs; i++) operands[i] = values + words[4 + i];
        Call call = {operands, operands + ins, ins, outs, words + 4 + ins + outs, &room};
        int result = steps[words[0]].kernel(&call);
        if (result == NO_ROOM) return -1;
        if (result != DONE) return 1 + n;
        words += 2 + words[1];
    }
    return 0;
}

/* Copies results of a program, whose numbers among the values are `which`, to addresses. */
PUBLIC void copy_results(const Value *values, const int64_t *which, int64_t count,
                         uint8_t *const *places) {
    for (int64_t n = 0; n < count; n++) {
        const Value *value = values + which[n];
        int64_t total = count_of(value);
        if (value->kind != TEXT)
            memcpy(places[n], value->data, (size_t)bytes_of(value));
        else
            for (int64_t i = 0; i < total; i++)
                keep_object(((void **)(void *)value->data)[i], (void **)(void *)places[n] + i);
    }
}
