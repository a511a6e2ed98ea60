/* Cross entropy of softmax probabilities: src/stillflow/ops/nn/cross_entropy.py.

   Of few numbers every kernel of torch takes longer to call than to run, and these are eight. */
#include "native.h"

#include <math.h>

/* Softmax of a row: exp(x - largest) / sum; returns the logarithm of the sum. */
static float softmax(const float *row, int64_t classes, float *out, float *maximum) {
    float largest = row[0], sum = 0;
    for (int64_t j = 1; j < classes; j++) largest = row[j] > largest ? row[j] : largest;
    for (int64_t j = 0; j < classes; j++) sum += out[j] = expf(row[j] - largest);
    for (int64_t j = 0; j < classes; j++) out[j] /= sum;
    *maximum = largest;
    return logf(sum);
}

/* The loss of every row, and its gradient for the logits: softmax less the labels.

   labels: as many as logits. */
PUBLIC void dense_cross_entropy(const float *logits, const float *labels, int64_t rows,
                                int64_t classes, float *loss, float *backprop) {
    for (int64_t i = 0; i < rows; i++) {
        const float *row = logits + i * classes, *label = labels + i * classes;
        float *out = backprop + i * classes, largest, total = 0;
        float logarithm = softmax(row, classes, out, &largest);
        for (int64_t j = 0; j < classes; j++) {
            total += label[j] * (logarithm - (row[j] - largest));
            out[j] -= label[j];
        }
        loss[i] = total;
    }
}

/* The same with the number of the class that is right in every row.

   labels: int32, or int64 where `wide` is not 0.
   Returns 0, or 1 if a label is none of the classes; then the results mean nothing. */
PUBLIC int64_t sparse_cross_entropy(const float *logits, const void *labels, int64_t wide,
                                    int64_t rows, int64_t classes, float *loss,
                                    float *backprop) {
    for (int64_t i = 0; i < rows; i++) {
        int64_t label = wide ? ((const int64_t *)labels)[i] : ((const int32_t *)labels)[i];
        if (label < 0 || label >= classes) return 1;
        const float *row = logits + i * classes;
        float *out = backprop + i * classes, largest;
        float logarithm = softmax(row, classes, out, &largest);
        loss[i] = logarithm - (row[label] - largest);
        out[label] -= 1;
    }
    return 0;
}
