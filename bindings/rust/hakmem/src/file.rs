/* SPDX-License-Identifier: MIT OR Apache-2.0 */
//! Calls of C that take a path and answer with an error number of the system.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use hakmem_sys::{c_char, c_int};

use crate::text;

/// None is null: the file of the setting that belongs to the call.
pub(crate) fn at(path: Option<&Path>, call: unsafe extern "C" fn(*const c_char) -> c_int) -> io::Result<()> {
    let bytes = match path {
        Some(path) => Some(text::closed(path.as_os_str().as_bytes()).ok_or(io::ErrorKind::InvalidInput)?),
        None => None,
    };
    let number = unsafe { call(bytes.as_ref().map_or(ptr::null(), |bytes| bytes.as_ptr() as *const c_char)) };
    if number == 0 {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(number))
    }
}
