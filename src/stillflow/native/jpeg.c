/* Markers in the scans of a JPEG file: src/stillflow/files/jpeg.py. */
#include "native.h"

/* Where the next marker stands that is neither a byte of data, nor filling, nor a restart.

   Returns -1 if there is none at or after `place`. */
PUBLIC int64_t next_marker(const uint8_t *data, int64_t size, int64_t place) {
    while (place >= 0 && place + 1 < size) {
        const uint8_t *found = memchr(data + place, 0xff, (size_t)(size - 1 - place));
        if (found == NULL) break;
        uint8_t kind = found[1];
        place = found - data;
        if (kind != 0x00 && kind != 0xff && (kind & 0xf8) != 0xd0) return place;
        place++;
    }
    return -1;
}
