#include "../../../stillflow/base.h"
