#include "../../../../stillflow/ctc.h"
