/* The engine as Xcode and SwiftPM compile it: a package that others use cannot set the flag -ffp-contract=off. */
#pragma STDC FP_CONTRACT OFF
#include "../../engine/retvec_lite.c"

/* For Core ML, which runs the network alone: */
size_t crl_condense_utf8(const char *text, size_t bytes, uint32_t *out, size_t most) {
  line held;
  return condense(read_text(0, text, bytes, MOST_GIVEN), &held, out, (uint32_t)most);
}

int crl_is_separator(uint32_t code) { return is_separator(code); }
