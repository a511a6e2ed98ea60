#include "../../../stillflow/device.h"
