/* SPDX-License-Identifier: MIT OR Apache-2.0 */
//! [HakMem], HAKMEM as a program's global allocator, and what goes beyond allocating: [statistics](stats()),
//! [settings](set()), [limits](set_limit()), [memory given back on request](trim()), [call sites](Site), policies, heap
//! profiles.
//!
//! ```
//! #[global_allocator]
//! static GLOBAL: hakmem::HakMem = hakmem::HakMem;
//!
//! let text = String::from("served by HAKMEM");
//! assert!(hakmem::owns(text.as_ptr()));
//! ```
//!
//! HAKMEM is compiled from its C sources and linked statically. libc's `malloc` stays what it is: C libraries in the same
//! program, and whatever asks for [`std::alloc::System`], go on using it. The functions here work without
//! `#[global_allocator]` too; they are about what HAKMEM serves.
//!
//! Every function may be called by any thread at any time, but not in a signal handler. A wrong pointer that is freed
//! ends the program with one line on stderr.
//!
//! # Features
//!
//! | feature | is for |
//! |---|---|
//! | `std` (default) | `std::error::Error`, and policies and profiles in files; without it the crate is `no_std`, with `alloc` |
//! | `environment` | settings come from `HAKMEM_` variables too, as with libhakmem.so |
//! | `dlopen` | a shared library that is loaded by `dlopen` and uses HAKMEM inside |
//! | `debug-checks` | HAKMEM checks its own structures as it goes, slowly |
#![cfg_attr(not(feature = "std"), no_std)]
#![deny(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]

extern crate alloc;

mod error;
#[cfg(feature = "std")]
mod file;
mod global;
mod heap;
mod oom;
#[cfg(feature = "std")]
mod policy;
#[cfg(feature = "std")]
mod profile;
mod settings;
mod site;
mod text;

pub use error::Error;
pub use global::HakMem;
pub use hakmem_sys as sys;
pub use heap::{
    bytes_in_use, counter, counters, owns, set_limit, stats, trim, usable_size, utilization, version,
};
pub use heap::{Counter, Counters, Stats, Utilization};
pub use oom::set_oom_handler;
#[cfg(feature = "std")]
pub use policy::{policy_load, policy_save};
#[cfg(feature = "std")]
pub use profile::{profile_dump, profile_start, profile_stop};
pub use settings::{get, set};
pub use site::{alloc_at, site_name, sites, Site, SiteStats, Sites};

#[doc(hidden)]
pub use settings::terminated;
