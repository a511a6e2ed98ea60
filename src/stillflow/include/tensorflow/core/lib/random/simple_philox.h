#include "../../../../stillflow/random.h"
