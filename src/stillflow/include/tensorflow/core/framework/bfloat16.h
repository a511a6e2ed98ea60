#include "../../../stillflow/types.h"
