/* Short runs of bytes copied, many of them of one length. */
#ifndef STILLFLOW_COPIES_H
#define STILLFLOW_COPIES_H

#include "native.h"

#define COPY_OF(size) \
    case size: \
        memcpy(out, in, size); \
        return

/* A library's memcpy would cost more than the bytes of a pixel. */
static inline __attribute__((always_inline)) void copy_bytes(char *out, const char *in,
                                                             int64_t bytes) {
    switch (bytes) {
        COPY_OF(1);
        COPY_OF(3);
        COPY_OF(4);
        COPY_OF(8);
        COPY_OF(12);
        COPY_OF(16);
        COPY_OF(32);
        COPY_OF(64);
        COPY_OF(128);
        default:
            memcpy(out, in, (size_t)bytes);
    }
}

#undef COPY_OF

#endif
