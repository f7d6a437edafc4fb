/* SPDX-License-Identifier: MIT OR Apache-2.0 */
//! What can go wrong with settings, limits and labels.

use core::fmt;

use hakmem_sys::c_int;

pub(crate) const EPERM: c_int = 1;
pub(crate) const ENOENT: c_int = 2;
pub(crate) const ENOMEM: c_int = 12;

/// Why a setting, a limit or a keep time was refused. Nothing was changed then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Error {
    /// There is no setting of that name.
    Unknown,
    /// The value is malformed or out of range.
    Invalid,
    /// The setting can only be made at start: [`options!`](crate::options), or a `HAKMEM_` variable.
    OnlyAtStart,
    /// No memory, or no room for one more call site.
    NoRoom,
}

impl Error {
    /// What an error number of HAKMEM stands for.
    pub(crate) fn check(number: c_int) -> Result<(), Error> {
        match number {
            0 => Ok(()),
            ENOENT => Err(Error::Unknown),
            EPERM => Err(Error::OnlyAtStart),
            ENOMEM => Err(Error::NoRoom),
            _ => Err(Error::Invalid),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Error::Unknown => "no such setting of HAKMEM",
            Error::Invalid => "malformed or out of range",
            Error::OnlyAtStart => "can only be set at start",
            Error::NoRoom => "no memory, or too many call sites are in use",
        })
    }
}

#[cfg(feature = "std")]
impl std::error::Error for Error {}
