/* What a training reads of texts, without a file: normal forms, words, n-grams. */

/* How many characters a text has that ends there; none where ends decrease. */
static uint32_t length_until(uint32_t end, uint32_t start) { return end > start ? end - start : 0; }

size_t rvl_read(const rvl_rules *rules, const uint32_t *codes, const uint32_t *ends, size_t texts, uint16_t *flags, uint32_t *chars,
                uint32_t *chars_ends) {
  passage text = {.flags = flags, .contract = rules->contract, .letters_only = rules->letters_only};
  uint32_t start = 0, written = 0;
  size_t number;
  for (number = 0; number < texts; number++) {
    const uint32_t length = length_until(ends[number], start), first = written;
    uint32_t count = length < rules->max_chars ? length : rules->max_chars, place;
    text.chars = chars + written;
    for (place = 0; place < count; place++) text.chars[place] = codes[start + place];
    count = normalize(&text, count);
    /* A 0 replaces a separator, but behind the last run, so nothing is overwritten before it is read. */
    for (place = 0; place <= count; place++) {
      if (place < count && !(flags[place] & RVL_SEPARATOR))
        chars[written++] = text.chars[place];
      else if (written > first && chars[written - 1])
        chars[written++] = 0;
    }
    chars_ends[number] = written;
    start += length;
  }
  return written;
}

size_t rvl_cut(const rvl_rules *rules, const uint32_t *chars, const uint32_t *ends, size_t texts, uint32_t *counts, uint32_t *slots,
               size_t most) {
  const uint32_t word_length = rules->word_length ? rules->word_length : 1;
  uint32_t start = 0, place;
  size_t number, found = 0;
  for (number = 0; number < texts; number++) {
    const uint32_t length = length_until(ends[number], start);
    cutter rest = cut_text(chars + start, 0, length, word_length);
    piece word;
    for (counts[number] = 0; next_word(&rest, &word); counts[number]++, found++)
      for (place = 0; found < most && place < word_length; place++)
        slots[found * word_length + place] = place < word.length ? rest.chars[word.start + place] : 0;
    start += length;
  }
  return found;
}

size_t rvl_hashes(const rvl_rules *rules, const uint32_t *chars, const uint32_t *ends, size_t texts, uint32_t *counts, uint16_t *hashes,
                  size_t most) {
  const uint32_t longest = rules->longest < LONGEST_NGRAM ? rules->longest : LONGEST_NGRAM;
  uint32_t start = 0, first, n, here, size, letters[LONGEST_NGRAM], some[LONGEST_NGRAM];
  size_t number, found = 0;
  for (number = 0; number < texts; number++) {
    const uint32_t length = length_until(ends[number], start);
    counts[number] = 0;
    /* As in add_ngrams_body; no n-gram begins with the last mark. */
    for (first = 0; first <= length; first++) {
      const uint32_t *window = window_from(chars + start, length, first, longest, &size, letters);
      for (n = 0; n < size; n++) letters[n] = folded(window[n], rules->plain_letters != 0);
      here = hashes_from(letters, size, rules->shortest, some);
      for (n = 0; n < here && found + n < most; n++) hashes[found + n] = (uint16_t)some[n];
      counts[number] += here;
      found += here;
    }
    start += length;
  }
  return found;
}
