/* SPDX-License-Identifier: MIT OR Apache-2.0 */
//! Settings by name, and those that a program has built in.

use alloc::string::String;

use hakmem_sys as sys;
use hakmem_sys::{c_char, c_int};

use crate::error::Error;
use crate::text;

const ERANGE: c_int = 34;

/// Changes one setting: its name as in `docs/guide/settings.md`, its value as text.
///
/// ```
/// hakmem::set("price", "lean")?;
/// hakmem::set("big_cache_bytes", "64M")?;
/// assert_eq!(hakmem::set("big_cache_bytes", "much"), Err(hakmem::Error::Invalid));
/// # Ok::<(), hakmem::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Unknown`]: no such setting; [`Error::Invalid`]: the value is malformed or out of range;
/// [`Error::OnlyAtStart`]: it is one of those that cannot be changed any more.
pub fn set(name: &str, value: &str) -> Result<(), Error> {
    let name = text::closed(name.as_bytes()).ok_or(Error::Unknown)?;
    let value = text::closed(value.as_bytes()).ok_or(Error::Invalid)?;
    Error::check(unsafe { sys::hak_set(name.as_ptr() as *const c_char, value.as_ptr() as *const c_char) })
}

/// The present value of a setting, as text that [`set`] takes.
///
/// ```
/// assert_eq!(hakmem::get("count_calls").as_deref(), Ok("off"));
/// assert_eq!(hakmem::get("colour"), Err(hakmem::Error::Unknown));
/// ```
///
/// # Errors
///
/// [`Error::Unknown`]: no such setting.
pub fn get(name: &str) -> Result<String, Error> {
    let name = text::closed(name.as_bytes()).ok_or(Error::Unknown)?;
    text::written(64, |out, size| match unsafe { sys::hak_get(name.as_ptr() as *const c_char, out, size) } {
        ERANGE => None,
        number => Some(Error::check(number)),
    })
}

/// Settings that a program has built in, read before `main`: once, in the crate of the program itself.
///
/// ```
/// hakmem::options!("huge_pages=off,count_calls=on");
///
/// fn main() {
///     assert_eq!(hakmem::get("count_calls").as_deref(), Ok("on"));
/// }
/// ```
///
/// # Errors
///
/// A setting that is unknown or malformed is reported on stderr in one line, and ignored.
#[macro_export]
macro_rules! options {
    ($text:expr) => {
        #[doc(hidden)]
        #[allow(non_upper_case_globals)]
        #[no_mangle]
        #[used]
        pub static hak_options: [u8; { const TEXT: &str = $text; TEXT.len() + 1 }] = $crate::terminated($text);
    };
}

#[doc(hidden)]
pub const fn terminated<const N: usize>(text: &str) -> [u8; N] {
    let bytes = text.as_bytes();
    let mut out = [0; N];
    let mut at = 0;
    while at < bytes.len() {
        out[at] = bytes[at];
        at += 1;
    }
    out
}
