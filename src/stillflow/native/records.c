/* TFRecords in their frames, checked and made by the block: src/stillflow/files/record_frames.py.

   A frame is the length of the data in 8 bytes, the checksum of these, the data and its checksum. */
#include "native.h"

enum { LENGTH = 8, HEADER = 12, FOOTER = 4 };

/* What stands behind the records that were found. */
enum { NOTHING_WHOLE, DAMAGED_HEADER, DAMAGED_DATA };

/* Finds the records that lie in some bytes as a whole, up to the first that is damaged.

   bounds: has room for `room` numbers, where the data of each begin, and as many, where they end.
   Returns how many were found, and in `behind` why there are no more. */
PUBLIC int64_t find_records(const uint8_t *data, int64_t size, int64_t *bounds, int64_t room,
                            int64_t *behind) {
    int64_t *begins = bounds, *ends = bounds + room, found = 0, at = 0;
    *behind = NOTHING_WHOLE;
    for (; found < room && size - at >= HEADER; found++) {
        if (masked_crc32c(data + at, LENGTH) != load32(data + at + LENGTH)) {
            *behind = DAMAGED_HEADER;
            break;
        }
        uint64_t length = load64(data + at);
        int64_t left = size - at - HEADER - FOOTER;
        if (left < 0 || length > (uint64_t)left) break;
        int64_t begin = at + HEADER, end = begin + (int64_t)length;
        if (masked_crc32c(data + begin, end - begin) != load32(data + end)) {
            *behind = DAMAGED_DATA;
            break;
        }
        begins[found] = begin;
        ends[found] = end;
        at = end + FOOTER;
    }
    return found;
}

/* Puts records into frames.

   data: the records, one after the other, of these lengths.
   out: has room for them and for as many frames. */
PUBLIC void frame_records(const uint8_t *data, const int64_t *lengths, int64_t count,
                          uint8_t *out) {
    for (int64_t i = 0; i < count; i++) {
        int64_t length = lengths[i];
        store64(out, (uint64_t)length);
        store32(out + LENGTH, masked_crc32c(out, LENGTH));
        memcpy(out + HEADER, data, (size_t)length);
        store32(out + HEADER + length, masked_crc32c(data, length));
        data += length;
        out += HEADER + length + FOOTER;
    }
}
