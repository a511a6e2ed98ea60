#include "../../../stillflow/strings.h"
