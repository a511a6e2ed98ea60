#include "../../../../stillflow/sparse.h"
