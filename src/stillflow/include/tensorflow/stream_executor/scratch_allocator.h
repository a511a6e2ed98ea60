#include "../../stillflow/stream.h"
