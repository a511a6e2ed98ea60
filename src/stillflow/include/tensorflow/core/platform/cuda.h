#include "../../../stillflow/stream.h"
