/* Edges of boxes on images: src/stillflow/ops/image/drawing.py. */
#include "native.h"

typedef struct {
    float *pixels; /* [height, width, depth] */
    int64_t height, width, depth;
} Picture;

static inline void draw_pixel(const Picture *on, int64_t row, int64_t column, const float *colour) {
    float *pixel = on->pixels + (row * on->width + column) * on->depth;
    for (int64_t i = 0; i < on->depth; i++) pixel[i] = colour[i];
}

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

/* What of a box lies on a picture; one that is inverted or outside is left out. */
static void draw_box(const Picture *on, const int64_t edges[4], const float *colour) {
    int64_t top = edges[0], left = edges[1], bottom = edges[2], right = edges[3];
    int64_t height = on->height, width = on->width;
    if (top > bottom || left > right) return;
    if (top >= height || bottom < 0 || left >= width || right < 0) return;
    int64_t rows[] = {top, bottom}, columns[] = {left, right};
    for (int i = 0; i < 2; i++)
        if (rows[i] >= 0 && rows[i] < height)
            for (int64_t x = most(left, 0); x <= least(right, width - 1); x++)
                draw_pixel(on, rows[i], x, colour);
    for (int i = 0; i < 2; i++)
        if (columns[i] >= 0 && columns[i] < width)
            for (int64_t y = most(top, 0); y <= least(bottom, height - 1); y++)
                draw_pixel(on, y, columns[i], colour);
}

/* Draws boxes on images [batch, height, width, depth], one after the other.

   edges: [batch, boxes, 4]: the first row and column, and the last row and column.
   colours: [colours, depth], taken in turn. */
PUBLIC void draw_boxes(float *images, int64_t batch, int64_t height, int64_t width, int64_t depth,
                       const int64_t *edges, int64_t boxes, const float *colours, int64_t count) {
    for (int64_t i = 0; i < batch; i++) {
        Picture on = {images + i * height * width * depth, height, width, depth};
        for (int64_t j = 0; j < boxes; j++)
            draw_box(&on, edges + (i * boxes + j) * 4, colours + j % count * depth);
    }
}
