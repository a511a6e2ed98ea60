#include "../../../../stillflow/logging.h"
