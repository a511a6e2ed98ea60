#include "../../../../stillflow/base.h"
