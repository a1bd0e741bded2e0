/* The engine for Java and Kotlin, as NativeEngine.kt declares it, on Android and elsewhere. Data are in direct buffers and passed by address,
 * so that two functions of JNI are enough, and neither its headers nor a C library are needed. The second argument of each function is its
 * class, which is not used. */
#include "../retvec_lite.c"

#ifdef _WIN32
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif
#define JNI(type, name) EXPORTED type Java_org_retveclite_NativeEngine_##name

typedef void *const **jni_env; /* a pointer to the table of JNI's functions */
typedef void *jni_object;

/* Places in the table: Java Native Interface Specification, chapter 4. */
enum { NEW_DIRECT_BYTE_BUFFER = 229, GET_DIRECT_BUFFER_ADDRESS = 230 };
typedef jni_object (*new_buffer)(jni_env env, void *start, int64_t size);
typedef void *(*get_address)(jni_env env, jni_object buffer);

static void *at(int64_t address) { return (void *)(uintptr_t)address; }

static int64_t address_of(const void *place) { return (int64_t)(uintptr_t)place; }

static jni_object as_buffer_of(jni_env env, const char *bytes, int64_t length) {
  return ((new_buffer)(*env)[NEW_DIRECT_BYTE_BUFFER])(env, (void *)(uintptr_t)bytes, length);
}

/* The bytes of a string, without the zero at its end. */
static jni_object as_buffer(jni_env env, const char *string) {
  int64_t length = 0;
  while (string[length]) length++;
  return as_buffer_of(env, string, length);
}

JNI(int64_t, address)(jni_env env, jni_object self, jni_object buffer) {
  (void)self;
  return address_of(((get_address)(*env)[GET_DIRECT_BUFFER_ADDRESS])(env, buffer));
}

JNI(jni_object, message)(jni_env env, jni_object self, int32_t problem) {
  (void)self;
  return as_buffer(env, rvl_message(problem));
}

JNI(jni_object, code)(jni_env env, jni_object self, int32_t problem) {
  (void)self;
  return as_buffer(env, rvl_code(problem));
}

/* Write how many bytes the block needs to `result`; returns the problem. */
JNI(int32_t, blockSize)(jni_env env, jni_object self, int64_t file, int64_t size, int32_t words, int64_t result) {
  size_t bytes = 0;
  int problem = rvl_block_size(at(file), (size_t)size, (uint32_t)words, &bytes);
  (void)env, (void)self;
  *(int64_t *)at(result) = (int64_t)bytes;
  return problem;
}

/* Write the address of the engine to `result`; returns the problem. */
JNI(int32_t, open)(jni_env env, jni_object self, int64_t file, int64_t size, int32_t words, int64_t block, int64_t bytes, int64_t result) {
  rvl *engine = 0;
  int problem = rvl_open(at(file), (size_t)size, (uint32_t)words, at(block), (size_t)bytes, &engine);
  (void)env, (void)self;
  *(int64_t *)at(result) = address_of(engine);
  return problem;
}

JNI(int32_t, labels)(jni_env env, jni_object self, int64_t engine) {
  (void)env, (void)self;
  return (int32_t)rvl_labels(at(engine));
}

JNI(jni_object, label)(jni_env env, jni_object self, int64_t engine, int32_t label) {
  (void)self;
  return as_buffer(env, rvl_label(at(engine), (uint32_t)label));
}

JNI(jni_object, metadata)(jni_env env, jni_object self, int64_t engine) {
  size_t length = 0;
  const char *metadata = rvl_metadata(at(engine), &length);
  (void)self;
  return as_buffer_of(env, metadata ? metadata : "", (int64_t)length);
}

JNI(int32_t, readLimit)(jni_env env, jni_object self, int64_t engine) {
  (void)env, (void)self;
  return (int32_t)rvl_read_limit(at(engine));
}

JNI(int32_t, dimension)(jni_env env, jni_object self, int64_t engine) {
  (void)env, (void)self;
  return (int32_t)rvl_dimension(at(engine));
}

JNI(void, probabilities)(jni_env env, jni_object self, int64_t engine, int64_t text, int32_t bytes, int64_t result) {
  (void)env, (void)self;
  rvl_probabilities_utf8(at(engine), at(text), (size_t)bytes, at(result));
}

JNI(int32_t, classify)(jni_env env, jni_object self, int64_t engine, int64_t text, int32_t bytes, int64_t answers, int32_t most) {
  (void)env, (void)self;
  return (int32_t)rvl_classify_utf8(at(engine), at(text), (size_t)bytes, at(answers), (size_t)most);
}

JNI(void, embed)(jni_env env, jni_object self, int64_t engine, int64_t text, int32_t bytes, int64_t result) {
  (void)env, (void)self;
  rvl_embed_utf8(at(engine), at(text), (size_t)bytes, at(result));
}

JNI(int32_t, explain)(jni_env env, jni_object self, int64_t engine, int64_t text, int32_t bytes, int32_t label, int64_t spans, int32_t most) {
  (void)env, (void)self;
  return (int32_t)rvl_explain_utf8(at(engine), at(text), (size_t)bytes, label, at(spans), (size_t)most);
}

JNI(int64_t, memorySize)(jni_env env, jni_object self, int64_t engine, int32_t texts) {
  (void)env, (void)self;
  return (int64_t)rvl_memory_size(at(engine), (uint32_t)texts);
}

JNI(int32_t, memoryOpen)(jni_env env, jni_object self, int64_t engine, int64_t block, int64_t bytes) {
  (void)env, (void)self;
  return rvl_memory_open(at(engine), at(block), (size_t)bytes);
}

JNI(int32_t, teach)(jni_env env, jni_object self, int64_t engine, int64_t text, int32_t bytes, int64_t label) {
  (void)env, (void)self;
  return rvl_teach_utf8(at(engine), at(text), (size_t)bytes, at(label));
}

JNI(int32_t, forget)(jni_env env, jni_object self, int64_t engine, int64_t text, int32_t bytes) {
  (void)env, (void)self;
  return rvl_forget_utf8(at(engine), at(text), (size_t)bytes);
}

JNI(int32_t, taught)(jni_env env, jni_object self, int64_t engine) {
  (void)env, (void)self;
  return (int32_t)rvl_taught(at(engine));
}

/* A taught text, or its label. */
JNI(jni_object, taughtText)(jni_env env, jni_object self, int64_t engine, int32_t number, int32_t is_label) {
  const char *label, *text = rvl_taught_text(at(engine), (uint32_t)number, &label);
  (void)self;
  return as_buffer(env, is_label ? label : text);
}

JNI(int32_t, speaker)(jni_env env, jni_object self, int64_t engine) {
  (void)env, (void)self;
  return rvl_speaker(at(engine));
}

JNI(int64_t, memorySave)(jni_env env, jni_object self, int64_t engine, int64_t out, int64_t most) {
  (void)env, (void)self;
  return (int64_t)rvl_memory_save(at(engine), at(out), (size_t)most);
}

JNI(int32_t, memoryLoad)(jni_env env, jni_object self, int64_t engine, int64_t data, int64_t size) {
  (void)env, (void)self;
  return rvl_memory_load(at(engine), at(data), (size_t)size);
}

/* For LiteRT, which runs the model alone; without a file. */
JNI(int32_t, readLimitOf)(jni_env env, jni_object self, int32_t max_chars) {
  (void)env, (void)self;
  return (int32_t)read_limit((uint32_t)max_chars);
}

JNI(int32_t, condense)(jni_env env, jni_object self, int64_t codes, int32_t count, int32_t max_chars, int64_t result) {
  const rvl_rules rules = {0, (uint32_t)max_chars};
  (void)env, (void)self;
  return (int32_t)rvl_condense_by(&rules, at(codes), (size_t)count, at(result));
}

/* Write where each part of a text starts and ends that rvl_explain leaves out; returns how many there are. */
JNI(int32_t, parts)(jni_env env, jni_object self, int64_t codes, int32_t count, int64_t result) {
  const given text = read_text(at(codes), 0, (size_t)count, (size_t)count).text;
  const int cuts_words = has_few_parts(&text);
  uint32_t *places = at(result);
  part found = {{0, 0, 0, 0}, 0, 0, 0, 0, 0};
  (void)env, (void)self;
  while (advance(&text, &found, cuts_words)) {
    *places++ = (uint32_t)found.start;
    *places++ = (uint32_t)found.end;
  }
  return (int32_t)(places - (uint32_t *)at(result)) / 2;
}

JNI(uint8_t, isSeparator)(jni_env env, jni_object self, int32_t code) {
  (void)env, (void)self;
  return (uint8_t)is_separator((uint32_t)code);
}
