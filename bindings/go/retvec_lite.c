#include "../../engine/retvec_lite.c"
