//! Classify texts with a `.retvec` file: raw text in, label out.
//!
//! ```no_run
//! let mut classifier = retvec_lite::Classifier::open("classifier-int8.retvec")?;
//! println!("{}", classifier.predict("my pakcage never arived").label.as_deref().unwrap_or("none of these"));
//! # Ok::<(), retvec_lite::RetvecError>(())
//! ```
//!
//! The engine is C, which `build.rs` compiles; it checks every file, and reads and writes nothing outside of its memory.
use std::ffi::{c_char, c_int, CStr, CString};
use std::{error, fmt, fs, path::Path, ptr, slice};

#[repr(C)]
struct Engine([u8; 0]);

#[repr(C)]
#[derive(Clone, Copy)]
struct Answer(i32, f32);

#[repr(C)]
#[derive(Clone, Copy)]
struct Part(u32, u32, f64);

extern "C" {
    fn rvl_message(problem: c_int) -> *const c_char;
    fn rvl_code(problem: c_int) -> *const c_char;
    fn rvl_block_size(file: *const u64, size: usize, words: u32, bytes: *mut usize) -> c_int;
    fn rvl_open(file: *const u64, size: usize, words: u32, block: *mut u64, bytes: usize, engine: *mut *mut Engine) -> c_int;
    fn rvl_labels(engine: *const Engine) -> u32;
    fn rvl_label(engine: *const Engine, label: u32) -> *const c_char;
    fn rvl_several_labels(engine: *const Engine) -> c_int;
    fn rvl_metadata(engine: *const Engine, bytes: *mut usize) -> *const u8;
    fn rvl_read_limit(engine: *const Engine) -> u32;
    fn rvl_dimension(engine: *const Engine) -> u32;
    fn rvl_probabilities_utf8(engine: *mut Engine, text: *const u8, bytes: usize, probabilities: *mut f32);
    fn rvl_classify_utf8(engine: *mut Engine, text: *const u8, bytes: usize, answers: *mut Answer, most: usize) -> usize;
    fn rvl_explain_utf8(engine: *mut Engine, text: *const u8, bytes: usize, label: i32, spans: *mut Part, most: usize) -> usize;
    fn rvl_embed_utf8(engine: *mut Engine, text: *const u8, bytes: usize, embedding: *mut f32);
    fn rvl_memory_size(engine: *const Engine, texts: u32) -> usize;
    fn rvl_memory_open(engine: *mut Engine, block: *mut u64, bytes: usize) -> c_int;
    fn rvl_teach_utf8(engine: *mut Engine, text: *const u8, bytes: usize, label: *const c_char) -> c_int;
    fn rvl_forget_utf8(engine: *mut Engine, text: *const u8, bytes: usize) -> c_int;
    fn rvl_taught(engine: *const Engine) -> u32;
    fn rvl_taught_text(engine: *const Engine, number: u32, label: *mut *const c_char) -> *const c_char;
    fn rvl_speaker(engine: *const Engine) -> i32;
    fn rvl_memory_save(engine: *const Engine, out: *mut u8, most: usize) -> usize;
    fn rvl_memory_load(engine: *mut Engine, data: *const u8, size: usize) -> c_int;
}

const WORDS: u32 = 384; // RVL_WORDS
const NO_MEMORY: c_int = 9; // RVL_NO_MEMORY
const FULL: c_int = 12; // RVL_FULL
const FEW: u32 = 64; // texts for which the first block of a memory has room, on average

/// The type of every error: `code` is a name of retvec_lite.h, such as "RVL_CHANGED"; or "CANNOT_LOAD" for a file that cannot be
/// read, or "WRONG_CALL". `message` says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetvecError {
    pub code: String,
    pub message: String,
}

impl fmt::Display for RetvecError {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.write_str(&self.message)
    }
}

impl error::Error for RetvecError {}

/// The answer to a text: its label, `None` for none of them, and the probability of the most probable one. `taught` is the taught text by which
/// the memory answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    pub label: Option<String>,
    pub probability: f32,
    pub taught: Option<String>,
}

/// A part of a text, `text[start..end]`; by `weight`, the natural logarithm of the label's probability falls without it.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    pub start: usize,
    pub end: usize,
    pub weight: f64,
}

/// Answers texts. It serves one thread at a time, so calls need `&mut`; for several threads, open it several times, or use a `Mutex`.
///
/// Its memory is freed when it is dropped.
pub struct Classifier {
    engine: *mut Engine,
    labels: Vec<String>,
    room: u32,
    /// File, block, and the block of the memory: as 64-bit numbers, because they must start at a multiple of 8 bytes.
    kept: [Vec<u64>; 3],
}

// The engine has no globals, and all that it points to belongs to the classifier.
unsafe impl Send for Classifier {}

impl Classifier {
    /// Read a file and start an engine.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, RetvecError> {
        let unreadable = |error: std::io::Error| RetvecError {
            code: "CANNOT_LOAD".into(),
            message: format!("{}: {error}", path.as_ref().display()),
        };
        Self::load(&fs::read(&path).map_err(unreadable)?)
    }

    /// Start an engine for the bytes of a file, which are copied.
    pub fn load(file: &[u8]) -> Result<Self, RetvecError> {
        let mut kept = [vec![0; file.len().div_ceil(8)], vec![], vec![]];
        let (mut bytes, mut engine) = (0, ptr::null_mut());
        unsafe {
            ptr::copy_nonoverlapping(file.as_ptr(), kept[0].as_mut_ptr().cast(), file.len());
            checked(rvl_block_size(kept[0].as_ptr(), file.len(), WORDS, &mut bytes))?;
            kept[1] = vec![0; bytes.div_ceil(8)];
            checked(rvl_open(kept[0].as_ptr(), file.len(), WORDS, kept[1].as_mut_ptr(), bytes, &mut engine))?;
            let labels = (0..rvl_labels(engine)).map(|label| string(rvl_label(engine, label))).collect();
            Ok(Self { engine, labels, room: 0, kept })
        }
    }

    /// The labels, in the order of the probabilities.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// What the file says of itself, JSON.
    pub fn metadata(&self) -> String {
        let mut bytes = 0;
        let text = unsafe { rvl_metadata(self.engine, &mut bytes) };
        if text.is_null() { String::new() } else { String::from_utf8_lossy(unsafe { slice::from_raw_parts(text, bytes) }).into() }
    }

    /// The label of a text; of several, the most probable one.
    pub fn predict(&mut self, text: &str) -> Prediction {
        self.answers(text, 1).pop().unwrap_or_else(|| {
            let probability = self.probabilities(text).into_iter().fold(0.0, f32::max);
            Prediction { label: None, probability, taught: None }
        })
    }

    /// The answers to texts, in their order.
    pub fn predict_many<T: AsRef<str>>(&mut self, texts: impl IntoIterator<Item = T>) -> Vec<Prediction> {
        texts.into_iter().map(|text| self.predict(text.as_ref())).collect()
    }

    /// The labels of a text, most probable first: one or none, or any number where the file gives several.
    pub fn predict_all(&mut self, text: &str) -> Vec<Prediction> {
        let most = if unsafe { rvl_several_labels(self.engine) } == 0 { 1 } else { self.labels.len() };
        self.answers(text, most).into_iter().filter(|one| one.label.is_some()).collect()
    }

    fn answers(&mut self, text: &str, most: usize) -> Vec<Prediction> {
        let mut found = vec![Answer(-1, 0.0); most];
        let written = unsafe { rvl_classify_utf8(self.engine, text.as_ptr(), text.len(), found.as_mut_ptr(), most) };
        let mut taught = u32::try_from(unsafe { rvl_speaker(self.engine) }).ok().map(|number| self.lesson(number).0);
        let name = |label| u32::try_from(label).ok().map(|label| string(unsafe { rvl_label(self.engine, label) }));
        found[..written].iter().map(|answer| Prediction { label: name(answer.0), probability: answer.1, taught: taught.take() }).collect()
    }

    /// The probability of each label.
    pub fn probabilities(&mut self, text: &str) -> Vec<f32> {
        let mut found = vec![0.0; self.labels.len()];
        unsafe { rvl_probabilities_utf8(self.engine, text.as_ptr(), text.len(), found.as_mut_ptr()) };
        found
    }

    /// Which words of a text speak for a label, which must be a known one; `None` is the most probable one.
    pub fn explain(&mut self, text: &str, label: Option<&str>) -> Result<Vec<Span>, RetvecError> {
        let number = label.map(|name| self.labels.iter().position(|known| known == name).ok_or(name)).transpose();
        let unknown = |name| wrong_call(format!("{name:?} is not a label of this classifier."));
        let number = number.map_err(unknown)?.map_or(-1, |number| number as i32);
        let most = text.len().min(unsafe { rvl_read_limit(self.engine) } as usize);
        let mut found = vec![Part(0, 0, 0.0); most];
        let written = unsafe { rvl_explain_utf8(self.engine, text.as_ptr(), text.len(), number, found.as_mut_ptr(), most) };
        Ok(found[..written].iter().map(|part| Span { start: part.0 as usize, end: part.1 as usize, weight: part.2 }).collect())
    }

    /// A vector of length 1, for search by dot product: zeros for a text without words. Files that read n-grams alone have none.
    pub fn embed(&mut self, text: &str) -> Result<Vec<f32>, RetvecError> {
        let mut found = vec![0.0; unsafe { rvl_dimension(self.engine) } as usize];
        if found.is_empty() {
            return Err(wrong_call("This file has no embeddings: it reads n-grams alone.".into()));
        }
        unsafe { rvl_embed_utf8(self.engine, text.as_ptr(), text.len(), found.as_mut_ptr()) };
        Ok(found)
    }

    /// Say that a text has a label, old or new: it, and texts like it, are answered with that label, and all others as before.
    pub fn teach(&mut self, text: &str, label: &str) -> Result<(), RetvecError> {
        let label = CString::new(label).unwrap_or_default(); // the engine refuses an empty one, and C would read a part of one with a zero
        self.change(|engine| unsafe { rvl_teach_utf8(engine, text.as_ptr(), text.len(), label.as_ptr()) })
    }

    /// Undo the teaching of a text.
    pub fn forget(&mut self, text: &str) -> Result<(), RetvecError> {
        self.change(|engine| unsafe { rvl_forget_utf8(engine, text.as_ptr(), text.len()) })
    }

    /// What was taught. It holds the texts themselves: a saved memory is as private as they are.
    pub fn memory(&mut self) -> Memory<'_> {
        Memory(self)
    }

    /// Change the memory; where that has no room, a larger one, as long as there is.
    fn change(&mut self, body: impl Fn(*mut Engine) -> c_int) -> Result<(), RetvecError> {
        let mut problem = body(self.engine);
        while problem == NO_MEMORY || problem == FULL {
            let larger = FEW.max(2 * self.room);
            let size = unsafe { rvl_memory_size(self.engine, larger) };
            if self.room > 0 && size <= 8 * self.kept[2].len() {
                break;
            }
            let (saved, mut block) = (self.memory().save(), vec![0; size.div_ceil(8)]);
            checked(unsafe { rvl_memory_open(self.engine, block.as_mut_ptr(), 8 * block.len()) })?;
            unsafe { rvl_memory_load(self.engine, saved.as_ptr(), saved.len()) };
            (self.kept[2], self.room) = (block, larger);
            problem = body(self.engine);
        }
        checked(problem)
    }

    fn lesson(&self, number: u32) -> (String, String) {
        let mut label = ptr::null();
        let text = unsafe { rvl_taught_text(self.engine, number, &mut label) };
        (string(text), string(label))
    }
}

/// What a classifier was taught.
pub struct Memory<'a>(&'a mut Classifier);

impl Memory<'_> {
    /// The taught texts, as they are kept, and their labels, in the order of teaching.
    pub fn texts(&self) -> Vec<(String, String)> {
        (0..unsafe { rvl_taught(self.0.engine) }).map(|number| self.0.lesson(number)).collect()
    }

    /// The bytes of a file that every package of retvec-lite reads; none where nothing was taught.
    pub fn save(&self) -> Vec<u8> {
        let mut saved = vec![0; unsafe { rvl_memory_save(self.0.engine, ptr::null_mut(), 0) }];
        unsafe { rvl_memory_save(self.0.engine, saved.as_mut_ptr(), saved.len()) };
        saved
    }

    /// Take the bytes of such a file, in place of what was taught; fails, and changes nothing, where they are none.
    pub fn load(&mut self, file: &[u8]) -> Result<(), RetvecError> {
        self.0.change(|engine| unsafe { rvl_memory_load(engine, file.as_ptr(), file.len()) })
    }

    /// Forget all texts.
    pub fn clear(&mut self) {
        let block = &mut self.0.kept[2];
        unsafe { rvl_memory_open(self.0.engine, block.as_mut_ptr(), 8 * block.len()) };
    }
}

fn wrong_call(message: String) -> RetvecError {
    RetvecError { code: "WRONG_CALL".into(), message }
}

fn checked(problem: c_int) -> Result<(), RetvecError> {
    if problem == 0 {
        return Ok(());
    }
    Err(RetvecError { code: string(unsafe { rvl_code(problem) }), message: string(unsafe { rvl_message(problem) }) })
}

/// A string of the engine, which is UTF-8.
fn string(text: *const c_char) -> String {
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
