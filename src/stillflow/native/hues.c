/* Colours of another hue or saturation: src/stillflow/ops/image/adjusting.py.

   A pixel takes no branches, so that a processor can do several at once; that is also why a
   few are taken apart into their channels first. */
#include "native.h"

enum {
    PART = 1 << 12, /* pixels that one thread takes at a time */
    SOME = 64       /* pixels taken apart together */
};

#define INLINE static inline __attribute__((always_inline))

typedef struct {
    float red[SOME], green[SOME], blue[SOME];
} Channels;

typedef struct {
    const float *images;
    float *out;
    int64_t pixels;
    float number; /* by how many sixths of a circle to turn, or what to multiply with */
    int64_t circles; /* how many of them a hue may have to be brought back by */
} Adjusting;

/* One of two numbers, without a branch: a compiler would not dare to compute both. */
INLINE float pick(int32_t first, float a, float b) {
    int32_t mask = -first, bits, other;
    memcpy(&bits, &a, sizeof bits);
    memcpy(&other, &b, sizeof other);
    bits = (bits & mask) | (other & ~mask);
    memcpy(&a, &bits, sizeof a);
    return a;
}

INLINE float larger(float a, float b) { return pick(a < b, b, a); }
INLINE float smaller(float a, float b) { return pick(b < a, b, a); }

/* A colour is told by its largest and smallest channel, and by how far the middle one is on the way
   between them in a sixth of the circle. */
typedef struct {
    float hue[SOME], least[SOME], most[SOME];
} Hues;

INLINE void find_hues(const Channels *of, Hues *found) {
    for (int i = 0; i < SOME; i++) {
        float red = of->red[i], green = of->green[i], blue = of->blue[i];
        int32_t rising = red < green;
        float low = pick(rising, red, green), high = pick(rising, green, red);
        int32_t below = blue < low, above = blue > high;
        float least = pick(below, blue, low), most = pick(above, blue, high);
        float middle = pick(below, low, pick(above, high, blue));
        int32_t when_rising = 2 - below + above, when_falling = 5 - 5 * below - above;
        int32_t sixth = when_falling + rising * (when_rising - when_falling);
        float ratio = (middle - least) / (most - least);
        float hue = (float)sixth + pick(sixth & 1, 1 - ratio, ratio);
        found->hue[i] = pick(most == least, 0, hue);
        found->least[i] = least, found->most[i] = most;
    }
}

/* Brings hues that are outside of the circle back by one. */
INLINE void bring_back(Hues *found) {
    for (int i = 0; i < SOME; i++) {
        float hue = found->hue[i];
        hue = pick(hue < 0, hue + 6, hue);
        found->hue[i] = pick(hue >= 6, hue - 6, hue);
    }
}

INLINE void show_hues(const Hues *found, Channels *of) {
    for (int i = 0; i < SOME; i++) {
        float hue = found->hue[i], least = found->least[i], most = found->most[i];
        /* What is not a number counts as the last sixth. */
        int32_t sixth = (int32_t)pick(hue >= 0, hue, 5);
        float ratio = hue - (float)sixth;
        float middle = least + pick(sixth & 1, 1 - ratio, ratio) * (most - least);
        float red = pick((sixth == 2) | (sixth == 3), least, most);
        float green = pick((sixth == 1) | (sixth == 2), most, least);
        float blue = pick((sixth == 3) | (sixth == 4), most, least);
        of->red[i] = pick((sixth == 1) | (sixth == 4), middle, red);
        of->green[i] = pick((sixth == 0) | (sixth == 3), middle, green);
        of->blue[i] = pick((sixth == 2) | (sixth == 5), middle, blue);
    }
}

INLINE void turn(Channels *of, const Adjusting *all) {
    Hues found;
    find_hues(of, &found);
    for (int i = 0; i < SOME; i++) found.hue[i] += all->number;
    for (int64_t circle = 0; circle < all->circles; circle++) bring_back(&found);
    show_hues(&found, of);
}

/* The rest of dividing hues, from 0 to 6, by two sixths. */
INLINE float phase_of(float hue) {
    hue = pick(hue >= 4, hue - 4, hue);
    return pick(hue >= 2, hue - 2, hue);
}

/* Another saturation: to hue, saturation and value, and back. */
INLINE void saturate(Channels *of, const Adjusting *all) {
    float scale = all->number;
    for (int i = 0; i < SOME; i++) {
        float red = of->red[i], green = of->green[i], blue = of->blue[i];
        float most = larger(red, larger(green, blue));
        float spread = most - smaller(red, smaller(green, blue));
        float share = pick(most > 0, spread / most, 0) * scale;
        share = smaller(1, larger(0, share));
        float norm = 1.0f / (6.0f * spread);
        float first = norm * (green - blue);
        float second = (float)((double)(norm * (blue - red)) + 2.0 / 6.0);
        float third = (float)((double)(norm * (red - green)) + 4.0 / 6.0);
        float hue = pick(red == most, first, pick(green == most, second, third));
        hue = pick(spread <= 0, 0, hue);
        hue = pick(hue < 0, hue + 1, hue) * 6;
        float chroma = share * most, rest = most - chroma, off = phase_of(hue) - 1;
        float middle = chroma * (1 - pick(off < 0, -off, off));
        /* A whole turn, and what is not a number, has no sixth of its own: grey. */
        int32_t sixth = (int32_t)pick(hue >= 0, hue, 6);
        float part = pick((sixth == 0) | (sixth == 5), chroma, 0);
        of->red[i] = pick((sixth == 1) | (sixth == 4), middle, part) + rest;
        part = pick((sixth == 1) | (sixth == 2), chroma, 0);
        of->green[i] = pick((sixth == 0) | (sixth == 3), middle, part) + rest;
        part = pick((sixth == 3) | (sixth == 4), chroma, 0);
        of->blue[i] = pick((sixth == 2) | (sixth == 5), middle, part) + rest;
    }
}

INLINE void adjust_part(const Adjusting *all, int64_t part, int is_hue) {
    int64_t end = all->pixels < (part + 1) * PART ? all->pixels : (part + 1) * PART;
    Channels some;
    memset(&some, 0, sizeof some);
    for (int64_t first = part * PART; first < end; first += SOME) {
        int64_t count = end - first < SOME ? end - first : SOME;
        const float *in = all->images + first * 3;
        float *out = all->out + first * 3;
        for (int64_t i = 0; i < count; i++)
            some.red[i] = in[i * 3], some.green[i] = in[i * 3 + 1], some.blue[i] = in[i * 3 + 2];
        if (is_hue)
            turn(&some, all);
        else
            saturate(&some, all);
        for (int64_t i = 0; i < count; i++)
            out[i * 3] = some.red[i], out[i * 3 + 1] = some.green[i], out[i * 3 + 2] = some.blue[i];
    }
}

FOR_EACH_PROCESSOR static void turn_part(void *data, int64_t part) { adjust_part(data, part, 1); }

FOR_EACH_PROCESSOR static void saturate_part(void *data, int64_t part) {
    adjust_part(data, part, 0);
}

/* Changes colours [pixels, 3] of float32.

   is_hue: whether `number` says by how many sixths of a circle their hues turn, which is no more
   than `circles` of them; else it is what the saturation is multiplied with. */
PUBLIC void adjust_colours(const float *images, int64_t pixels, int64_t is_hue, double number,
                           int64_t circles, float *out, int64_t threads) {
    Adjusting all = {images, out, pixels, (float)number, circles};
    in_parallel(is_hue ? turn_part : saturate_part, &all, (pixels + PART - 1) / PART, threads);
}
