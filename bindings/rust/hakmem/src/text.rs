/* SPDX-License-Identifier: MIT OR Apache-2.0 */
//! Text to C and from C, where there is no std.

use alloc::string::String;
use alloc::vec::Vec;
use core::str;

use hakmem_sys::c_char;

/// The bytes with a closing zero; None when there is one inside, which C would take for the end.
pub(crate) fn closed(text: &[u8]) -> Option<Vec<u8>> {
    if text.contains(&0) {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() + 1);
    bytes.extend_from_slice(text);
    bytes.push(0);
    Some(bytes)
}

/// The text at `p`, ASCII that lives as long as the library.
///
/// # Safety
///
/// `p` is one of HAKMEM's own constants.
pub(crate) unsafe fn constant(p: *const c_char) -> &'static str {
    let mut n = 0;
    unsafe {
        while *p.add(n) != 0 {
            n += 1;
        }
        str::from_utf8_unchecked(core::slice::from_raw_parts(p as *const u8, n))
    }
}

/// What `write` puts into a buffer of that many bytes, as long as it says that they are too few.
pub(crate) fn written<E>(first: usize, mut write: impl FnMut(*mut c_char, usize) -> Option<Result<(), E>>) -> Result<String, E> {
    let mut size = first;
    loop {
        let mut bytes: Vec<u8> = alloc::vec![0; size];
        if let Some(done) = write(bytes.as_mut_ptr() as *mut c_char, size) {
            let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(size);
            return done.map(|()| String::from_utf8_lossy(&bytes[..end]).into_owned());
        }
        size *= 2;
    }
}
