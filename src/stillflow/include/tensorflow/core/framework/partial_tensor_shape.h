#include "../../../stillflow/shape.h"
