#include "../../../stillflow/logging.h"
