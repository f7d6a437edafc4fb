/* SPDX-License-Identifier: MIT OR Apache-2.0 */
//! A shared library that uses HAKMEM inside, for a program that knows nothing of it.

#[global_allocator]
static GLOBAL: hakmem::HakMem = hakmem::HakMem;

/// How many of `n` boxes are HAKMEM's, in a thread of its own.
#[no_mangle]
pub extern "C" fn boxes_served(n: usize) -> usize {
    let boxes = std::thread::spawn(move || (0..n).map(Box::new).collect::<Vec<_>>()).join().unwrap_or_default();
    boxes.iter().filter(|one| hakmem::owns(&***one)).count()
}

/// True where the setting `count_calls` is on.
#[no_mangle]
pub extern "C" fn counts() -> bool {
    hakmem::get("count_calls").as_deref() == Ok("on")
}
