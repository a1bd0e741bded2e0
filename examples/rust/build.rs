//! Compile the engine with the C compiler of the machine; in a project of your own, the crate `cc` knows more of them.
use std::{env, process::Command};

fn main() {
    let out = env::var("OUT_DIR").unwrap();
    let compiler = env::var("CC").unwrap_or("cc".into());
    let (engine, source) = ("../../engine", "../../engine/retvec_lite.c");
    let object = format!("{out}/retvec_lite.o");
    let run = |command: &mut Command| assert!(command.status().unwrap().success());
    run(Command::new(compiler).args(["-c", "-O3", "-ffp-contract=off", "-fPIC", source, "-o", &object]));
    run(Command::new("ar").args(["rcs", &format!("{out}/libretvec_lite.a"), &object]));
    println!("cargo:rustc-link-search=native={out}\ncargo:rerun-if-changed={engine}");
}
