/* SPDX-License-Identifier: MIT OR Apache-2.0 */
//! Who holds memory, by stack, in files that `go tool pprof`, Speedscope and `hakmem profile` open.

use std::io;
use std::path::Path;

use hakmem_sys as sys;

use crate::{file, Error};

/// From here on one byte in `bytes` is sampled by chance, and the stack that asked for its block is noted until it is
/// freed. 0: as the setting `profile_bytes` says.
///
/// ```
/// hakmem::profile_start(512 << 10)?;
/// hakmem::profile_stop();
/// # Ok::<(), hakmem::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Invalid`]: more than a TiB. [`Error::NoRoom`]: no memory for samples.
pub fn profile_start(bytes: usize) -> Result<(), Error> {
    Error::check(unsafe { sys::hak_profile_start(bytes) })
}

/// Samples no more. Blocks that were sampled are followed to their end.
pub fn profile_stop() {
    unsafe { sys::hak_profile_stop() }
}

/// Writes what is known, whole or not at all: what is live, and what was ever allocated, each by stack, without bias.
/// None: to where the setting `profile_file` says.
///
/// ```
/// assert!(hakmem::profile_dump(Some("/no/such/folder/heap".as_ref())).is_err());
/// ```
///
/// # Errors
///
/// By the number of the system: EINVAL, no path, or what lies there is no file; ENOMEM; ENAMETOOLONG; or what the kernel
/// says. The file is as it was then.
pub fn profile_dump(path: Option<&Path>) -> io::Result<()> {
    file::at(path, sys::hak_profile_dump)
}
