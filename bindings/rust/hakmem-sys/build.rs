/* SPDX-License-Identifier: MIT OR Apache-2.0 */
//! Compiles the C sources into libhakmem.a: the `hak_` names only, so that `malloc` stays libc's.
//!
//! Which files and which flags is said in cmake/HakLayers.cmake and cmake/HakFlags.cmake, variant `plain`;
//! tests/rust/test_bindings.py compares. `c/` holds links to the folders of the tree, and the files themselves in a
//! package. Whatever the profile, HAKMEM is compiled as for a release: an allocator without optimisation would slow down
//! what one debugs.
#![allow(clippy::needless_borrows_for_generic_args)] // older versions of cc want them

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::exit;

/// The layers (src/README.md).
const LAYERS: [&str; 13] =
    ["base", "os", "tables", "retain", "runs", "blocks", "record", "cache", "observe", "reclaim", "learn", "entry", "api"];

/// Files that define names of libc, or must call libc's own of the same name.
const OVERRIDING: [&str; 5] = ["api/malloc.c", "api/derived.c", "api/next.c", "api/process.c", "api/dlopen.c"];

/// Files for one libc, left out where the target has the other.
const MUSL_ONLY: [&str; 1] = ["os/libc_musl.c"];
const GLIBC_ONLY: [&str; 1] = ["os/libc_glibc.c"];

/// Files of libhakmem-secure.so alone, which is no part of the crate.
const SECURE_ONLY: [&str; 7] = [
    "os/chance.c", "os/guard.c", "os/seal.c", "tables/apart.c", "tables/state.c", "runs/guards.c", "entry/secured.c",
];

/// Folders of the kernel's headers, which Debian's musl-gcc hides with glibc's.
const KERNEL_HEADERS: [&str; 3] = ["linux", "asm-generic", "asm"];

/// These names mean nothing special to the compiler: it may neither drop nor merge nor guess about them.
const NOT_BUILTIN: [&str; 9] =
    ["malloc", "free", "calloc", "realloc", "aligned_alloc", "memalign", "posix_memalign", "valloc", "pvalloc"];

const FLAGS: [&str; 4] = ["-fPIC", "-fvisibility=hidden", "-fno-semantic-interposition", "-ffunction-sections"];

fn is_on(feature: &str) -> bool {
    env::var_os(format!("CARGO_FEATURE_{feature}")).is_some()
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

fn is_musl() -> bool {
    variable("CARGO_CFG_TARGET_ENV") == "musl"
}

/// One line for a target that HAKMEM does not run on.
fn refuse_other_targets() {
    let is = |name: &str, values: &[&str]| values.contains(&variable(name).as_str());
    if !is("CARGO_CFG_TARGET_OS", &["linux"])
        || !is("CARGO_CFG_TARGET_ENV", &["gnu", "musl"])
        || !is("CARGO_CFG_TARGET_ARCH", &["x86_64", "aarch64"])
        || !is("CARGO_CFG_TARGET_POINTER_WIDTH", &["64"])
        || !is("CARGO_CFG_TARGET_ENDIAN", &["little"])
    {
        let target = variable("TARGET");
        eprintln!("hakmem-sys: HAKMEM runs on Linux on x86-64 and AArch64, with glibc or musl, not on {target}");
        exit(1);
    }
}

fn sources_of(layer: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(layer).unwrap_or_else(|error| {
        eprintln!("hakmem-sys: {}: {error}; links of a checkout must be kept when it is copied", layer.display());
        exit(1);
    });
    let other_libc = if is_musl() { &GLIBC_ONLY } else { &MUSL_ONLY };
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().map_or(false, |kind| kind == "c"))
        .filter(move |path| !OVERRIDING.iter().chain(&SECURE_ONLY).chain(other_libc).any(|name| path.ends_with(name)))
}

fn sources(root: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = LAYERS.iter().flat_map(|layer| sources_of(&root.join("src").join(layer))).collect();
    found.sort();
    found
}

fn define(build: &mut cc::Build, name: &str, on: bool) {
    build.define(name, if on { "1" } else { "0" });
}

fn configure(build: &mut cc::Build, root: &Path) {
    build.include(root.join("include")).include(root.join("src"));
    build.std("gnu11").opt_level(2).warnings(false).force_frame_pointer(false);
    for name in NOT_BUILTIN {
        build.flag(&format!("-fno-builtin-{name}"));
    }
    for flag in FLAGS {
        build.flag(flag);
    }
    if variable("CARGO_CFG_TARGET_ARCH") == "x86_64" {
        build.flag("-fno-plt"); // there the linker makes these calls direct
    }
    build.flag(if is_on("DLOPEN") { "-ftls-model=global-dynamic" } else { "-ftls-model=initial-exec" });
    build.flag(&format!("-ffile-prefix-map={}=.", root.display()));
    define(build, "HAK_READ_ENVIRONMENT", is_on("ENVIRONMENT"));
    define(build, "HAK_DEBUG_CHECKS", is_on("DEBUG_CHECKS"));
    define(build, "HAK_ELIDE_LOCKS", true);
    define(build, "HAK_STATIC_TLS", !is_on("DLOPEN"));
}

fn sees_kernel_headers(build: &cc::Build) -> bool {
    let words = ["-E", "-x", "c", "-include", "linux/futex.h", "/dev/null"];
    let tried = build.get_compiler().to_command().args(words).output();
    tried.map_or(true, |done| done.status.success()) // else compiling will tell
}

/// A folder of links shows the kernel's headers alone.
fn show_kernel_headers(build: &mut cc::Build) {
    let (links, system) = (PathBuf::from(variable("OUT_DIR")).join("kernel-headers"), Path::new("/usr/include"));
    let of_machine = system.join(format!("{}-linux-gnu", variable("CARGO_CFG_TARGET_ARCH")));
    fs::create_dir_all(&links).expect("OUT_DIR");
    for name in KERNEL_HEADERS {
        let folder = [&of_machine, system].iter().map(|root| root.join(name)).find(|folder| folder.is_dir());
        if let (Some(folder), false) = (folder, links.join(name).exists()) {
            symlink(folder, links.join(name)).expect("OUT_DIR");
        }
    }
    build.flag("-isystem").flag(&links.display().to_string());
}

fn main() {
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("c");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={}", root.join("src").display());
    println!("cargo:rerun-if-changed={}", root.join("include").display());
    println!("cargo:include={}", root.join("include").display());
    refuse_other_targets();
    let mut build = cc::Build::new();
    configure(&mut build, &root);
    if is_musl() && !sees_kernel_headers(&build) {
        show_kernel_headers(&mut build);
    }
    build.files(sources(&root)).compile("hakmem");
}
