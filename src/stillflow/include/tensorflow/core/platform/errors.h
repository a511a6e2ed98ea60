#include "../../../stillflow/status.h"
