/* SPDX-License-Identifier: MIT OR Apache-2.0 */
//! What was learnt, in files. These names may still change.

use std::io;
use std::path::Path;

use hakmem_sys as sys;

use crate::file;

/// Writes what was learnt of how long free memory stays, whole or not at all, for its owner to read. None: to where the
/// setting `policy_file` says. Not in a sandbox that forbids opening files.
///
/// ```
/// let nothing_learnt = hakmem::policy_save(Some("a.policy".as_ref())).unwrap_err();
/// println!("{nothing_learnt}"); // No data available
/// ```
///
/// # Errors
///
/// By the number of the system: ENOTSUP, HAKMEM was built without learning; ENODATA, nothing was learnt as yet; EINVAL,
/// no path, or what lies there is no file; ENAMETOOLONG; or what the kernel says. The file is as it was then.
pub fn policy_save(path: Option<&Path>) -> io::Result<()> {
    file::at(path, sys::hak_policy_save)
}

/// Reads what was learnt from a file. Its rows take the place of the same rows here; rows of modules that are not
/// loaded, or were built anew, are left out. None: from where the setting `policy_file` says.
///
/// ```
/// assert!(hakmem::policy_load(Some("/no/such/file".as_ref())).is_err());
/// ```
///
/// # Errors
///
/// By the number of the system: EBADMSG, the file is damaged or no policy; EINVAL, no path; or what the kernel says.
/// What was learnt is as it was then.
pub fn policy_load(path: Option<&Path>) -> io::Result<()> {
    file::at(path, sys::hak_policy_load)
}
