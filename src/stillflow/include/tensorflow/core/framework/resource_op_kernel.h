#include "../../../stillflow/resource.h"
