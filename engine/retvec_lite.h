/* Classify texts with a .retvec file: C99, no library, no allocation but one block that the caller gives.
 *
 *     size_t bytes;
 *     rvl *engine;
 *     int problem = rvl_block_size(file, size, RVL_WORDS, &bytes);            1. how large a block does the file need?
 *     void *block = problem ? NULL : malloc(bytes);
 *     if (!problem) problem = rvl_open(file, size, RVL_WORDS, block, bytes, &engine);             2. check it and start
 *     if (problem) puts(rvl_message(problem));
 *     rvl_answer answer = {-1, 0};
 *     rvl_classify_utf8(engine, text, strlen(text), &answer, 1);                              3. any call, in any order
 *     puts(answer.label < 0 ? "none of these" : rvl_label(engine, (uint32_t)answer.label));
 *     free(block), free(file);                                   4. nothing to close: the engine was all in its block
 *
 * Compile with `cc program.c retvec_lite.c`, C99 or later: GCC and Clang need no flag to be fast, and to answer the same bits everywhere. Give other
 * compilers, and builds with RVL_SMALL, -ffp-contract=off. C++ compiles this header, but retvec_lite.c as C: `cc -c retvec_lite.c`.
 *
 *     -DRVL_DEBUG          two threads in one engine at the same time end the program, with a message (GCC and Clang)
 *     -DRVL_FREESTANDING   no C library: brings memcpy and memset
 *     -DRVL_PLAIN_ONLY     no code for AVX2 and AVX-512, which are otherwise chosen at run time on x86-64
 *     -DRVL_API=...        what stands before each function, such as __declspec(dllexport)
 *
 * File and block start at a multiple of 8 bytes, as malloc and mmap give them. The file stays where it is, unchanged, while the engine is in
 * use; engines share it. An engine serves one thread at a time: use one for each thread, or a lock. Texts need no zero at their end, may be
 * of any length, and are given as people wrote them. No file and no text makes the engine read or write outside its bytes.
 */
#ifndef RETVEC_LITE_H
#define RETVEC_LITE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef RVL_API
#define RVL_API extern
#endif

#define RVL_LIBRARY_VERSION "0.2.0" /* of this header; rvl_library_version has that of the library */

#define RVL_WORDS 384u /* words whose vectors are kept, by default: 300 kB with the default head */

/* What goes wrong. All that is wrong with a file is found out by rvl_open: what it has opened answers every text. */
enum {
  RVL_OK = 0,
  RVL_NOT_RETVEC,    /* another kind of file */
  RVL_VERSION,       /* of the format, or of the contract */
  RVL_TRUNCATED,     /* smaller or larger than it says */
  RVL_CHANGED,       /* wrong checksum */
  RVL_DAMAGED,       /* a section is missing, is there twice or does not fit the others; a label is empty, no UTF-8, or there twice */
  RVL_BLOCK_SIZE,    /* the caller's block is too small */
  RVL_ALIGNMENT,     /* file or block does not start at a multiple of 8 bytes */
  RVL_UNTEACHABLE,   /* a file without vectors of texts, or with several labels a text */
  RVL_NO_MEMORY,     /* none was opened */
  RVL_NO_TEXT,       /* nothing is left to read of a text */
  RVL_LABEL,         /* a label is empty, no UTF-8, too long, or has control characters */
  RVL_FULL,          /* no room for another text */
  RVL_NOT_TAUGHT,    /* a text to forget was not taught */
  RVL_NOT_A_MEMORY,  /* another kind of file */
  RVL_MEMORY_VERSION,
  RVL_MEMORY_DAMAGED
};

typedef struct rvl rvl;

typedef struct {
  int32_t label;     /* its number, or -1: none of the labels */
  float probability; /* for none: that of the most probable one */
} rvl_answer;

typedef struct {
  uint32_t start, end; /* code points of the text, or bytes of its UTF-8: from start, before end */
  double weight;       /* by how much the natural logarithm of the label's probability falls without them */
} rvl_span;

/* A sentence for one of the codes above; and its name, such as "RVL_CHANGED", which bindings for other languages pass on. */
RVL_API const char *rvl_message(int problem);
RVL_API const char *rvl_code(int problem);

/* The version of the compiled library, such as "0.2.0". */
RVL_API const char *rvl_library_version(void);

/* How large a block the engine of a file needs. `words`: vectors to keep, 0 for none. Checks all but the checksum and labels that repeat. */
RVL_API int rvl_block_size(const void *file, size_t size, uint32_t words, size_t *bytes);

/* Check a file and start an engine inside a block. */
RVL_API int rvl_open(const void *file, size_t size, uint32_t words, void *block, size_t bytes, rvl **engine);

/* Labels, in the order of the probabilities; UTF-8, ending in a zero. rvl_label also names those that a memory adds, which are numbered from
 * rvl_labels on; null where there is none of that number. */
RVL_API uint32_t rvl_labels(const rvl *engine);
RVL_API const char *rvl_label(const rvl *engine, uint32_t label);

/* Whether a text may have any number of labels: 1, or 0 where it has one or none. */
RVL_API int rvl_several_labels(const rvl *engine);

/* What the file says of itself, for people: JSON in UTF-8, without a zero at its end, such as {"recipe": "int8", ...}. Null where there is none. */
RVL_API const char *rvl_metadata(const rvl *engine, size_t *bytes);

/* Code points of a text that are read at most, of what condensing leaves of it. */
RVL_API uint32_t rvl_read_limit(const rvl *engine);

/* What is read of a text: condensed and composed (NFC). Returns how many code points that are; the first `most` are written. */
RVL_API size_t rvl_condense(rvl *engine, const uint32_t *codes, size_t count, uint32_t *out, size_t most);
RVL_API size_t rvl_condense_utf8(rvl *engine, const char *text, size_t bytes, uint32_t *out, size_t most);

/* The probability of each label. Texts are given as they are: this function and all others condense and compose them, unless they say that
 * they take what rvl_condense returned. Invalid UTF-8 becomes U+FFFD. */
RVL_API void rvl_probabilities(rvl *engine, const uint32_t *codes, size_t count, float *probabilities);
RVL_API void rvl_probabilities_utf8(rvl *engine, const char *text, size_t bytes, float *probabilities);

/* The probabilities of many texts that rvl_condense returned: text number i ends before code point ends[i], where the next one starts. */
RVL_API void rvl_many(rvl *engine, const uint32_t *codes, const uint32_t *ends, size_t texts, float *probabilities);

/* The labels of a text, best first, at most `most`: the answer (-1 for none of the labels, then what it might have been), and the others.
 * With several labels a text, those that it has. Returns how many were written. */
RVL_API size_t rvl_classify(rvl *engine, const uint32_t *codes, size_t count, rvl_answer *answers, size_t most);
RVL_API size_t rvl_classify_utf8(rvl *engine, const char *text, size_t bytes, rvl_answer *answers, size_t most);

/* Teach a classifier with a few texts. A memory lies in a block of its own, as long as the engine is used, and rvl_classify answers with it:
 * texts like a taught one get its label, old or new. All others are answered as without it, bit for bit, and rvl_probabilities, rvl_explain and
 * rvl_embed never ask it. It keeps the texts themselves, which are the user's.
 *
 * rvl_memory_size: how large a block of so many texts is; 0 where a file cannot be taught. About 40 bytes are counted for each text with its
 * share of labels, and no more than 10,000 texts: a memory holds 10,016 texts and labels together at most. rvl_memory_open: start an empty one
 * in a block, in place of the one before. */
RVL_API size_t rvl_memory_size(const rvl *engine, uint32_t texts);
RVL_API int rvl_memory_open(rvl *engine, void *block, size_t bytes);

/* Teach that a text has a label, in place of what it was taught before; or forget a text, given so or as rvl_taught_text lists it, as if it had
 * never been taught. Text and label are copied, and may be what the engine returned. Of a text, what rvl_condense returns is kept, up to 256
 * bytes of UTF-8. When either fails, the memory stays as it was. */
RVL_API int rvl_teach(rvl *engine, const uint32_t *codes, size_t count, const char *label);
RVL_API int rvl_teach_utf8(rvl *engine, const char *text, size_t bytes, const char *label);
RVL_API int rvl_forget(rvl *engine, const uint32_t *codes, size_t count);
RVL_API int rvl_forget_utf8(rvl *engine, const char *text, size_t bytes);

/* How many texts are taught; one of them and its label, in the order of teaching, null beyond the last. Pointers and numbers, those of new
 * labels too, hold until the memory changes. rvl_speaker: the number of the text by which the memory gave the last answer of rvl_classify, or
 * -1 where the file did. */
RVL_API uint32_t rvl_taught(const rvl *engine);
RVL_API const char *rvl_taught_text(const rvl *engine, uint32_t number, const char **label);
RVL_API int32_t rvl_speaker(const rvl *engine);

/* The memory as a file, which any classifier can load that can be taught. Saving returns how many bytes it has, which are written where `most`
 * are enough. Loading replaces what was taught, or fails and changes nothing. */
RVL_API size_t rvl_memory_save(const rvl *engine, void *out, size_t most);
RVL_API int rvl_memory_load(rvl *engine, const void *data, size_t size);

/* Which words of a text as it was given speak for a label (-1: the most probable one), of the code points up to the read limit. Returns how
 * many spans are written, at most `most`. A text of more words, or of more than about 200, is first divided into longer spans, and words are
 * looked for in those that count most. Spans of UTF-8 count the bytes of the text. */
RVL_API size_t rvl_explain(rvl *engine, const uint32_t *codes, size_t count, int32_t label, rvl_span *spans, size_t most);
RVL_API size_t rvl_explain_utf8(rvl *engine, const char *text, size_t bytes, int32_t label, rvl_span *spans, size_t most);

/* Numbers of a text embedding; 0 where a file has none. The embedding: the vector of a head that has one, else the mean of those of the
 * words; and behind it their meaning in files with a table of it; of length 1. */
RVL_API uint32_t rvl_dimension(const rvl *engine);
RVL_API void rvl_embed(rvl *engine, const uint32_t *codes, size_t count, float *embedding);
RVL_API void rvl_embed_utf8(rvl *engine, const char *text, size_t bytes, float *embedding);

/* The embeddings of many texts, which are given as for rvl_many. */
RVL_API void rvl_embed_many(rvl *engine, const uint32_t *codes, const uint32_t *ends, size_t texts, float *embeddings);

/* What the words of one window mean, which is a part of what rvl_condense returned: 64 numbers, of length 1 or all 0. Returns how many were
 * written: 0 for files without a table of meaning. */
RVL_API uint32_t rvl_meaning(rvl *engine, const uint32_t *codes, size_t count, float *vector);

/* The words of one such window as the network reads them: `slots` has rvl_slots rows of rvl_slot_length code points, zeros behind the end.
 * Each word's embedding, of rvl_word_dimension numbers, goes into a row of `embeddings`, unless that is null. Returns how many slots are in
 * use. */
RVL_API uint32_t rvl_slots(const rvl *engine);
RVL_API uint32_t rvl_slot_length(const rvl *engine);
RVL_API uint32_t rvl_word_dimension(const rvl *engine);
RVL_API uint32_t rvl_words(rvl *engine, const uint32_t *codes, size_t count, uint32_t *slots, float *embeddings);

/* How texts are read without a file: by a training, or for a classifier of another format. */
typedef struct {
  uint32_t letters_only; /* 1: words with technical signs and all that is no letter are left out */
  uint32_t max_chars;    /* code points of a text that are read */
} rvl_rules;

/* What is read of a text, as rvl_condense says. `out` has room for 32 times max_chars. Returns how many code points
 * were written. */
RVL_API size_t rvl_condense_by(const rvl_rules *rules, const uint32_t *codes, size_t count, uint32_t *out);

/* Bring texts, condensed or composed before, into their normal form: runs of characters that no separator divides, each with one 0 behind
 * it. Text number i ends before code point ends[i], as for rvl_many, and its normal form before chars_ends[i]. `chars` has room for all code
 * points of the texts and one more for each text, `flags` is room to work in, for the code points of the longest text. Returns how many were
 * written. */
RVL_API size_t rvl_read(const rvl_rules *rules, const uint32_t *codes, const uint32_t *ends, size_t texts, uint16_t *flags, uint32_t *chars,
                        uint32_t *chars_ends);

#ifdef __cplusplus
}
#endif
#endif
