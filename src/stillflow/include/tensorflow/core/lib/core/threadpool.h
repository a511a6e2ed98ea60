#include "../../../../stillflow/threads.h"
