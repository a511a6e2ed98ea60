#include "../../../stillflow/batches.h"
