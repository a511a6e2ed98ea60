#include "../../../stillflow/sync.h"
