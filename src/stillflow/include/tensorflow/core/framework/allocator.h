#include "../../../stillflow/buffer.h"
