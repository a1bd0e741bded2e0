/* Classify texts with a .retvec file. The interface is in retvec_lite.h, the format in docs/engine.md, and the rules from text to words and
 * numbers in docs/contract.md, whose numbers the comments name. Compile this file alone: it includes its chapters, in the order to read them.
 *
 * The answers are the same bits on every machine. Products of matrices are sums of integers, so their order does not matter; what is
 * computed with floats is written in a fixed order. Compile with -ffp-contract=off: fused multiply-add rounds differently.
 */
#include "retvec_lite.h"

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF /* for builds that cannot set the flag; GCC needs it, or -std=c99 */
#endif

#include "tables.h"
#include "text.c"
#include "reading.c"
#include "display.c"
#include "condense.c"
#include "normal_form.c"
#include "machine.h"
#include "kernels.c"
#include "network.c"
#include "linear.c"
#include "windows.c"
#include "answers.c"
#include "explain.c"
#include "file.c"
#include "memory.c"
#include "memory_file.c"
