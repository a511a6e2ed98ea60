/* Tensors in a mapped data file of a checkpoint: src/stillflow/files/bundle_reader.py checks them,
   src/stillflow/ops/io/restoring.py copies them. */
#include "native.h"

/* Whether `count` pieces of some bytes have these checksums, which are masked. */
PUBLIC int64_t check_pieces(const uint8_t *data, const int64_t *begins, const int64_t *sizes,
                            int64_t count, const int64_t *crcs) {
    for (int64_t i = 0; i < count; i++)
        if (masked_crc32c(data + begins[i], sizes[i]) != crcs[i]) return 0;
    return 1;
}

/* Copies pieces of some bytes to where they belong. */
PUBLIC void copy_pieces(const uint8_t *data, const int64_t *begins, const int64_t *sizes,
                        int64_t count, const int64_t *targets) {
    for (int64_t i = 0; i < count; i++)
        if (sizes[i]) memcpy((void *)(intptr_t)targets[i], data + begins[i], (size_t)sizes[i]);
}
