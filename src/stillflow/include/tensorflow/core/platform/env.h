#include "../../../stillflow/env.h"
