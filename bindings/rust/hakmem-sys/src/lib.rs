/* SPDX-License-Identifier: MIT OR Apache-2.0 */
//! The names of `hakmem.h` and `experimental.h`, HAKMEM's public interface, compiled from its C sources and linked
//! statically.
//!
//! `malloc` stays libc's: a Rust program is served by HAKMEM where it asks for it. The crate `hakmem-alloc` does that
//! with `#[global_allocator]`, and has a safe function for what is here.
//!
//! Every function may be called by any thread at any time; none but [`hak_version`] in a signal handler. A wrong pointer
//! ends the program with one line on stderr.
#![no_std]
#![deny(missing_docs)]
#![allow(non_camel_case_types)]

use core::ffi::c_void;

/// C's `char`; `core::ffi` has none in Rust 1.63.
#[cfg(target_arch = "x86_64")]
pub type c_char = i8;
/// C's `char`; `core::ffi` has none in Rust 1.63.
#[cfg(not(target_arch = "x86_64"))]
pub type c_char = u8;
/// C's `int`.
pub type c_int = i32;
/// C's `unsigned`.
pub type c_uint = u32;

/// What [`hak_stats::version`] has to be.
pub const HAK_STATS_VERSION: u32 = 1;
/// What [`hak_utilization::version`] has to be.
pub const HAK_UTILIZATION_VERSION: u32 = 1;
/// What [`hak_site_stats::version`] has to be.
pub const HAK_SITE_VERSION: u32 = 1;
/// Room for the name of most sites, with its closing zero.
pub const HAK_SITE_NAME_BYTES: usize = 256;

/// What memory is used for; sizes in bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct hak_stats {
    /// In: [`HAK_STATS_VERSION`].
    pub version: u32,
    /// In: the size of this struct. A newer library fills only that many bytes.
    pub size: u32,
    /// Usable bytes of live blocks.
    pub in_use: u64,
    /// Bytes of free blocks in magazines and depots.
    pub cached: u64,
    /// Address space of open slabs.
    pub slab_bytes: u64,
    /// Bytes of blocks out of slabs: live or cached.
    pub slab_live: u64,
    /// Bytes of runs out, 32 KiB up to the big threshold: live or cached.
    pub large_live: u64,
    /// Bytes of live blocks above it.
    pub big_live: u64,
    /// Bytes of freed big blocks kept for re-use.
    pub big_cached: u64,
    /// Bytes of free runs that still hold pages.
    pub span_dirty: u64,
    /// Bytes of free runs that hold none.
    pub span_clean: u64,
    /// Bytes mapped for HAKMEM's own tables.
    pub metadata: u64,
    /// Bytes of address space mapped in all.
    pub mapped: u64,
    /// Thread contexts in use.
    pub threads: u64,
    /// Live blocks above the big threshold: their number.
    pub big_blocks: u64,
}

/// How full the slab is that a block lies in; see `hakmem.h`. Blocks that are out are live or in a thread's cache.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct hak_utilization {
    /// In: [`HAK_UTILIZATION_VERSION`].
    pub version: u32,
    /// In: the size of this struct. A newer library fills only that many bytes.
    pub size: u32,
    /// Of the block: usable bytes.
    pub block_bytes: u64,
    /// Of its slab: address space.
    pub slab_bytes: u64,
    /// How many blocks the slab has room for.
    pub slab_blocks: u64,
    /// And how many are out.
    pub slab_out: u64,
    /// Slabs of the same class that have room and are not empty: their number.
    pub class_slabs: u64,
    /// And blocks that are out of them.
    pub class_out: u64,
    /// Of the kernel's page that the pointer lies on.
    pub page_bytes: u64,
    /// Bytes of blocks that are out, on that page.
    pub page_out: u64,
    /// 1: some thread takes its new blocks from this slab.
    pub current: u64,
    /// 1: not so, it has room, and is no fuller than those slabs are on average, or by an eighth.
    pub worth_moving: u64,
}

/// A call site and what became of the blocks it had; see `hakmem.h` for which are counted.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct hak_site_stats {
    /// In: [`HAK_SITE_VERSION`].
    pub version: u32,
    /// In: the size of this struct. A newer library fills only that many bytes.
    pub size: u32,
    /// What the call returns to, or what [`hak_alloc_at`] was given; 0 is a row that is not in use.
    pub address: u64,
    /// Depth of the stack, in units of 16 bytes; 0: all that have no row of their own.
    pub depth: u64,
    /// Blocks had: their number.
    pub count: u64,
    /// Blocks had: their usable bytes.
    pub bytes: u64,
    /// Of these, not freed yet: their number.
    pub live: u64,
    /// Of these, not freed yet: their usable bytes.
    pub live_bytes: u64,
    /// Of those freed: how long they lived in all.
    pub lifetime_ms: u64,
    /// How often what it freed was taken again (big blocks).
    pub gaps: u64,
    /// And after how long, in all.
    pub gap_ms: u64,
    /// Of its blocks: had without a page from the kernel.
    pub hits: u64,
    /// Pages that the kernel gave for the others.
    pub fetched: u64,
    /// Bit k: a block of 2^k bytes, or up to twice as many, was had.
    pub sizes: u64,
    /// For how long what it leaves free stays; 0: as the price says.
    pub keep_ms: u64,
}

/// Frees memory for a request of so many bytes that failed. True: some was freed. It may still change.
#[allow(non_camel_case_types)]
pub type hak_oom_handler = Option<unsafe extern "C" fn(bytes: usize, argument: *mut c_void) -> bool>;

extern "C" {
    /// The version of the library, `"0.1.0"`.
    pub fn hak_version() -> *const c_char;

    /// `n` bytes, 16-byte aligned, contents undefined; 0 gives a unique pointer. Null: out of memory.
    pub fn hak_malloc(n: usize) -> *mut c_void;
    /// `count * size` bytes, all zero. Null: out of memory, or the product overflows.
    pub fn hak_calloc(count: usize, size: usize) -> *mut c_void;
    /// Moves or grows `p` to `n` bytes. Null allocates; `n` = 0 frees `p`. Null: out of memory, `p` is untouched.
    pub fn hak_realloc(p: *mut c_void, n: usize) -> *mut c_void;
    /// [`hak_realloc`] of `count * size` bytes. Null also when the product overflows.
    pub fn hak_reallocarray(p: *mut c_void, count: usize, size: usize) -> *mut c_void;
    /// `n` bytes at a multiple of `align`, a power of two. Null: out of memory, or another `align`.
    pub fn hak_aligned_alloc(align: usize, n: usize) -> *mut c_void;
    /// As [`hak_aligned_alloc`], but rounds `align` up to a power of two.
    pub fn hak_memalign(align: usize, n: usize) -> *mut c_void;
    /// Stores the block in `*out`. 0, or EINVAL or ENOMEM, and `*out` as it was.
    pub fn hak_posix_memalign(out: *mut *mut c_void, align: usize, n: usize) -> c_int;
    /// Gives `p` back; null does nothing.
    pub fn hak_free(p: *mut c_void);
    /// [`hak_free`], with the size that was asked for.
    pub fn hak_free_sized(p: *mut c_void, n: usize);
    /// [`hak_free`], with the alignment and the size that were asked for.
    pub fn hak_free_aligned_sized(p: *mut c_void, align: usize, n: usize);
    /// Bytes that may be used at `p`; 0 for null.
    pub fn hak_usable_size(p: *const c_void) -> usize;

    /// As [`hak_malloc`]; `site`, any address, labels who asks.
    pub fn hak_alloc_at(n: usize, site: *const c_void) -> *mut c_void;
    /// For how long what this site's blocks leave free stays. 0; EINVAL: null; ENOMEM: too many sites.
    pub fn hak_keep_at(site: *const c_void, ms: usize) -> c_int;
    /// True when `p` lies in a block that HAKMEM handed out or could hand out.
    pub fn hak_owns(p: *const c_void) -> bool;
    /// Usable bytes of all live blocks.
    pub fn hak_bytes_in_use() -> usize;
    /// Gives free memory back to the kernel, but for about `pad` bytes. True when any page went back.
    pub fn hak_trim(pad: usize) -> bool;
    /// Limits on what HAKMEM's blocks may take, 0 for none. 0, or EINVAL.
    pub fn hak_set_limit(soft: usize, hard: usize) -> c_int;
    /// Writes what was learnt to a file; null: the setting `policy_file`. 0 or an error number. This and the next may
    /// still change (`hakmem/experimental.h`).
    pub fn hak_policy_save(path: *const c_char) -> c_int;
    /// Reads what was learnt from a file; null: the setting `policy_file`. 0 or an error number.
    pub fn hak_policy_load(path: *const c_char) -> c_int;
    /// Sets the handler that is asked once before a request fails; null: none. It may still change.
    pub fn hak_set_oom_handler(handler: hak_oom_handler, argument: *mut c_void);

    /// From here on one byte in `bytes` is sampled, and the stack that asked for its block noted; 0: as the setting
    /// `profile_bytes` says. 0, or EINVAL or ENOMEM.
    pub fn hak_profile_start(bytes: usize) -> c_int;
    /// No more. What was sampled is followed to its end.
    pub fn hak_profile_stop();
    /// Writes the profile in the format of pprof; null: the setting `profile_file`. 0 or an error number.
    pub fn hak_profile_dump(path: *const c_char) -> c_int;

    /// Fills `*s`. 0, or EINVAL: `version` or `size` are wrong.
    pub fn hak_get_stats(s: *mut hak_stats) -> c_int;
    /// Fills `*u` for the block that `p` lies in. 0; ENOENT: it lies in none; EINVAL: `version` or `size` are wrong.
    pub fn hak_page_utilization(p: *const c_void, u: *mut hak_utilization) -> c_int;
    /// The `n`-th counter, its name and value; false past the last.
    pub fn hak_counter(n: c_uint, name: *mut *const c_char, value: *mut u64) -> bool;
    /// Fills `*s` for the `n`-th site; false past the last.
    pub fn hak_site(n: c_uint, s: *mut hak_site_stats) -> bool;
    /// Writes a name of that address. 0, or ERANGE: it is longer, and was cut.
    pub fn hak_site_name(address: u64, out: *mut c_char, size: usize) -> c_int;

    /// One setting by name, as text. 0; EINVAL, ENOENT, EPERM.
    pub fn hak_set(name: *const c_char, value: *const c_char) -> c_int;
    /// Writes the setting's present value as text. 0; ENOENT, ERANGE.
    pub fn hak_get(name: *const c_char, out: *mut c_char, size: usize) -> c_int;
}
