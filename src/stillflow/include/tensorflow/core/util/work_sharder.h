#include "../../../stillflow/threads.h"
