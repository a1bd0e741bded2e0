#include "../../../engine/retvec_lite.h"

/* What is read of a text: at most `most` code points, for which there must be room. Returns how many. */
size_t crl_condense_utf8(const char *text, size_t bytes, uint32_t *out, size_t most);

/* Whether a code point divides words. */
int crl_is_separator(uint32_t code);
