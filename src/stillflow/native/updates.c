/* Optimizers' rules for many variables, in one pass over memory:
   src/stillflow/ops/training/groups.py. */
#include "native.h"
#include "rules.h"

#include <stdlib.h>

enum { ADAGRAD, FTRL, RMS_PROP, CENTERED_RMS_PROP, ADADELTA };
enum {
    PIECE = 1 << 15, /* numbers that one thread takes at a time */
    FEW = 1 << 14    /* so many take less time than waking up another thread */
};

typedef struct {
    float *states[4]; /* the variable and its slots */
    const float *grad;
    int64_t size;
} Variable;

typedef struct {
    const Variable *variables;
    const int64_t *first; /* the number of the first piece of each variable, and of the end */
    int64_t rule;
    const float *numbers; /* what the rule takes beside these, in its order */
} Update;

FOR_EACH_PROCESSOR
static void update_piece(void *data, int64_t piece) {
    const Update *all = data;
    const Variable *variable = all->variables;
    const int64_t *first = all->first;
    for (; first[1] <= piece; first++) variable++;
    int64_t begin = (piece - *first) * PIECE, end = begin + PIECE;
    if (end > variable->size) end = variable->size;
    float *v = variable->states[0], *one = variable->states[1], *two = variable->states[2],
          *three = variable->states[3];
    const float *grad = variable->grad, *n = all->numbers;
    float a = n[0], b = n[1], c = n[2], d = n[3];
    if (all->rule == ADAGRAD)
        for (int64_t i = begin; i < end; i++) adagrad(v + i, one + i, grad[i], a);
    else if (all->rule == FTRL)
        for (int64_t i = begin; i < end; i++) ftrl(v + i, one + i, two + i, grad[i], a, b, c, d);
    else if (all->rule == RMS_PROP)
        for (int64_t i = begin; i < end; i++)
            rms_prop(v + i, one + i, two + i, grad[i], a, b, c, d);
    else if (all->rule == CENTERED_RMS_PROP)
        for (int64_t i = begin; i < end; i++)
            centered_rms_prop(v + i, one + i, two + i, three + i, grad[i], a, b, c, d);
    else
        for (int64_t i = begin; i < end; i++) adadelta(v + i, one + i, two + i, grad[i], a, b, c);
}

/* Updates variables in place.

   numbers: four of them.
   Returns 0, or 1, having changed nothing, if there is no memory. */
PUBLIC int64_t update_variables(const Variable *variables, int64_t number, int64_t rule,
                                const float *numbers, int64_t threads) {
    int64_t *first = malloc((size_t)(number + 1) * sizeof *first);
    if (!first) return 1;
    int64_t total = first[0] = 0;
    for (int64_t i = 0; i < number; i++) {
        first[i + 1] = first[i] + (variables[i].size + PIECE - 1) / PIECE;
        total += variables[i].size;
    }
    Update all = {variables, first, rule, numbers};
    in_parallel(update_piece, &all, first[number], total < FEW ? 1 : threads);
    free(first);
    return 0;
}
