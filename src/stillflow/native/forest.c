/* Walks through decision trees: src/stillflow_contrib/ops/tensor_forest/tree.py. */
#include "native.h"

/* A node as NumPy lays it out; those without children are leaves. */
typedef struct __attribute__((packed)) {
    int64_t feature;
    float threshold;
    int64_t kind, left, right;
    uint8_t is_leaf;
} Node;

enum { LESS_OR_EQUAL, LESS, GREATER_OR_EQUAL, GREATER, EQUAL };

static inline int passes(float value, float threshold, int64_t kind) {
    switch (kind) {
        case LESS_OR_EQUAL: return value <= threshold;
        case LESS: return value < threshold;
        case GREATER_OR_EQUAL: return value >= threshold;
        case GREATER: return value > threshold;
        default: return value == threshold;
    }
}

/* The leaf in which each of some rows of features ends. */
PUBLIC void find_leaves(const Node *nodes, const float *rows, int64_t count, int64_t width,
                        int64_t *found) {
    for (int64_t row = 0; row < count; row++, rows += width) {
        int64_t at = 0;
        while (!nodes[at].is_leaf) {
            const Node *node = nodes + at;
            int to_left = passes(rows[node->feature], node->threshold, node->kind);
            at = to_left ? node->left : node->right;
        }
        found[row] = at;
    }
}
