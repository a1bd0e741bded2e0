/* Classify texts with a .retvec file. The interface is in retvec_lite.h, the format in docs/engine.md, and the rules from text to words and
 * numbers in docs/contract.md, whose numbers the comments name. Compile this file alone: it includes its chapters, in the order to read them.
 *
 * The answers are the same bits on every machine. Products of matrices are sums of integers, so their order does not matter; what is
 * computed with floats is written in a fixed order. Fused multiply-add would round differently: other compilers than GCC and Clang need an option.
 */
#include "retvec_lite.h"

/* Whatever the command line says: no fused multiply-add; and in GCC, vectors in all loops, those with comparisons too. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__) && !defined(RVL_SMALL)
#pragma GCC optimize("O3", "no-trapping-math", "no-math-errno", "fp-contract=off", "no-tree-loop-distribute-patterns")
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
#include "decision.c"
