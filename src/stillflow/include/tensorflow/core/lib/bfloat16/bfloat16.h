#include "../../../../stillflow/types.h"
