#include "../../../../stillflow/status.h"
