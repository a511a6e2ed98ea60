#include "../../../../stillflow/strings.h"
