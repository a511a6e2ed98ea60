#include "../../../stillflow/random.h"
