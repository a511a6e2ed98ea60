#include "../../../../stillflow/containers.h"
