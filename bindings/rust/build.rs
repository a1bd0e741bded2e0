//! Compile the engine with the C compiler of the target: `CC_<target>`, `CC`, or the system's. No crate is needed.
use std::{env, path::Path, process::Command};

fn main() {
    // A published crate has the engine in its folder (`tools/c_archive.py`); a checkout where it is written.
    let engine = if Path::new("engine").exists() { "engine" } else { "../../engine" };
    let of_target = |name: &str| {
        let target = env::var("TARGET").unwrap();
        let names = [format!("{name}_{target}"), format!("{name}_{}", target.replace('-', "_")), name.to_string()];
        names.iter().find_map(|name| env::var(name).ok().filter(|value| !value.is_empty()))
    };
    let (out, source) = (env::var("OUT_DIR").unwrap(), format!("{engine}/retvec_lite.c"));
    let run = |tool: String, arguments: &[&str]| {
        // CC may be `ccache cc`, and a path with spaces.
        let words: Vec<&str> = if Path::new(&tool).exists() { vec![&tool] } else { tool.split_whitespace().collect() };
        let done = Command::new(words[0]).args(&words[1..]).args(arguments).status();
        let advice = format!("install a C compiler, or name one in the variable CC ({tool} {})", arguments.join(" "));
        assert!(matches!(done, Ok(status) if status.success()), "retvec-lite cannot be compiled: {advice}");
    };
    let msvc = env::var("CARGO_CFG_TARGET_ENV").as_deref() == Ok("msvc");
    let object = format!("{out}/retvec_lite.o");
    if msvc {
        let compiler = of_target("CC").unwrap_or("cl".into());
        run(compiler, &["/nologo", "/O2", "/fp:precise", "/c", &source, &format!("/Fo{object}")]);
        run(of_target("AR").unwrap_or("lib".into()), &["/nologo", &format!("/OUT:{out}/retvec_lite.lib"), &object]);
    } else {
        let compiler = of_target("CC").unwrap_or("cc".into());
        run(compiler, &["-std=c99", "-O3", "-ffp-contract=off", "-fPIC", "-c", &source, "-o", &object]);
        run(of_target("AR").unwrap_or("ar".into()), &["rcs", &format!("{out}/libretvec_lite.a"), &object]);
    }
    println!("cargo:rustc-link-search=native={out}\ncargo:rustc-link-lib=static=retvec_lite\ncargo:rerun-if-changed={engine}");
}
