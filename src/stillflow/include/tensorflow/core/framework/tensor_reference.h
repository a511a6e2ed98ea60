#include "../../../stillflow/tensor.h"
