/* Protocol buffer messages, read where they lie. Only the way in which protobuf libraries write them is
   read: fields in the order of their numbers. Whoever calls reads any other by itself. */
#ifndef STILLFLOW_MESSAGES_H
#define STILLFLOW_MESSAGES_H

#include "native.h"

enum { LENGTH_BYTES = 5 };

/* What is left to read of something. */
typedef struct {
    const uint8_t *at, *end;
} Bytes;

/* Takes a field with this tag, whose content has a length; 0 if there is no such one. */
static inline int take(Bytes *from, uint8_t tag, Bytes *taken) {
    const uint8_t *at = from->at;
    if (at == from->end || *at++ != tag) return 0;
    uint64_t length = 0;
    for (int i = 0; i < LENGTH_BYTES && at < from->end; i++) {
        uint8_t byte = *at++;
        length |= (uint64_t)(byte & 127) << 7 * i;
        if (byte > 127) continue;
        if (length > (uint64_t)(from->end - at)) return 0;
        *taken = (Bytes){at, at + length};
        from->at = at + length;
        return 1;
    }
    return 0;
}

/* Takes the only field that there is. */
static inline int take_all(Bytes from, uint8_t tag, Bytes *taken) {
    return take(&from, tag, taken) && from.at == from.end;
}

#endif
