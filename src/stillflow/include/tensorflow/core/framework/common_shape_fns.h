#include "../../../stillflow/library.h"
#include "../../../stillflow/formats.h"
