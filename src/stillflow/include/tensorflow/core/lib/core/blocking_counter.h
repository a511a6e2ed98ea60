#include "../../../../stillflow/sync.h"
