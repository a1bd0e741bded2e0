/* The engine as Xcode and SwiftPM compile it: a package that others use cannot set the flag -ffp-contract=off. */
#pragma STDC FP_CONTRACT OFF
#include "../../engine/retvec_lite.c"
