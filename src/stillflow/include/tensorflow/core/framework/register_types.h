#include "../../../stillflow/library.h"
