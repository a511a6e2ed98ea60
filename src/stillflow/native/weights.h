/* Where the outputs along one dimension lie among the inputs: class Weights in
   src/stillflow/ops/nn/interpolation.py. */
#ifndef STILLFLOW_WEIGHTS_H
#define STILLFLOW_WEIGHTS_H

#include <stdint.h>

typedef struct {
    const int64_t *lower, *upper; /* the neighbours, all of them inputs */
    const float *fraction;        /* how far an output is from the lower one */
    int64_t count;
    int64_t step; /* from what belongs to one result to the next one's; 0 where they share it */
} Weights;

#endif
