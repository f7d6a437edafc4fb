/* SPDX-License-Identifier: MIT OR Apache-2.0 */
//! Before memory is refused. This name may still change.

use core::ffi::c_void;
use core::mem::transmute;
use core::ptr::null_mut;

use hakmem_sys as sys;

/// A handler travels as the argument: handler and argument are replaced together.
unsafe extern "C" fn call(bytes: usize, argument: *mut c_void) -> bool {
    // SAFETY: the argument is always a function of this type, as `set_oom_handler` alone hands it over.
    let handler: fn(usize) -> bool = unsafe { transmute(argument) };
    handler(bytes)
}

/// Sets the handler of requests that fail for lack of memory, for the whole process; None: none. It is called once with
/// the bytes that were asked for, after HAKMEM released its own free memory, in the thread that asked. It may allocate
/// and free; a request that fails inside fails without a call. After true the request is tried once more. A handler that
/// panics ends the process.
///
/// ```
/// fn empty_caches(_bytes: usize) -> bool {
///     false // nothing was freed
/// }
/// hakmem::set_oom_handler(Some(empty_caches));
/// hakmem::set_oom_handler(None);
/// ```
pub fn set_oom_handler(handler: Option<fn(usize) -> bool>) {
    // SAFETY: `call` is given a function of its own type, for as long as it is set.
    unsafe {
        match handler {
            Some(handler) => sys::hak_set_oom_handler(Some(call), handler as *mut c_void),
            None => sys::hak_set_oom_handler(None, null_mut()),
        }
    }
}
