//! Classify the lines of standard input: `cargo run --release classifier-int8.retvec < texts.txt`.
//! Prints each text's label and its probability; - for none of the labels.
use std::ffi::{c_char, c_int, c_void, CStr};
use std::io::{self, BufRead};
use std::{env, fs, ptr};

#[link(name = "retvec_lite", kind = "static")]
extern "C" {
    fn rvl_message(problem: c_int) -> *const c_char;
    fn rvl_block_size(file: *const u64, size: usize, words: u32, bytes: *mut usize) -> c_int;
    fn rvl_open(file: *const u64, size: usize, words: u32, block: *mut u64, bytes: usize, engine: *mut *mut c_void) -> c_int;
    fn rvl_label(engine: *const c_void, label: u32) -> *const c_char;
    fn rvl_classify_utf8(engine: *mut c_void, text: *const u8, bytes: usize, answers: *mut Answer, most: usize) -> usize;
}

#[repr(C)]
struct Answer {
    label: i32,
    probability: f32,
}

/// An engine with its memory, as 64-bit numbers because both must start at a multiple of 8 bytes. It serves one thread.
struct Engine(*mut c_void, #[allow(dead_code)] [Vec<u64>; 2]);

impl Engine {
    fn open(file: &[u8]) -> Result<Engine, String> {
        let number = |part: &[u8]| part.iter().rev().fold(0, |sum, &byte| sum << 8 | byte as u64);
        let kept: Vec<u64> = file.chunks(8).map(number).collect();
        let (mut bytes, mut engine) = (0, ptr::null_mut());
        let mut problem = unsafe { rvl_block_size(kept.as_ptr(), file.len(), 384, &mut bytes) };
        let mut block = vec![0; bytes.div_ceil(8)];
        if problem == 0 {
            problem = unsafe { rvl_open(kept.as_ptr(), file.len(), 384, block.as_mut_ptr(), bytes, &mut engine) };
        }
        if problem == 0 { Ok(Engine(engine, [kept, block])) } else { Err(string(unsafe { rvl_message(problem) })) }
    }

    /// The label of a text, None for none of them, and the probability of the most probable one.
    fn classify(&mut self, text: &str) -> (Option<String>, f32) {
        let mut answer = Answer { label: -1, probability: 0.0 };
        unsafe { rvl_classify_utf8(self.0, text.as_ptr(), text.len(), &mut answer, 1) };
        let label = u32::try_from(answer.label).ok().map(|label| string(unsafe { rvl_label(self.0, label) }));
        (label, answer.probability)
    }
}

fn string(text: *const c_char) -> String {
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

fn main() -> Result<(), String> {
    let path = env::args().nth(1).ok_or("Name a .retvec file.")?;
    let mut engine = Engine::open(&fs::read(path).map_err(|error| error.to_string())?)?;
    for line in io::stdin().lock().lines() {
        let (label, probability) = engine.classify(&line.map_err(|error| error.to_string())?);
        println!("{} {probability:.6}", label.as_deref().unwrap_or("-"));
    }
    Ok(())
}
