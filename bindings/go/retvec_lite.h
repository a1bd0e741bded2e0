#include "../../engine/retvec_lite.h"
