#include "../../../stillflow/gpu.h"
