#include "../../../stillflow/formats.h"
