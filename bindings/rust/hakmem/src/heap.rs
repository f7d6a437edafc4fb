/* SPDX-License-Identifier: MIT OR Apache-2.0 */
//! The heap as a whole: statistics, counters, ownership, limits.

use core::ffi::c_void;
use core::mem::size_of;
use core::ptr;

use hakmem_sys as sys;
use hakmem_sys::c_uint;

use crate::error::Error;
use crate::text;

/// The version of HAKMEM that is linked.
///
/// ```
/// assert!(hakmem::version().starts_with("0."));
/// ```
pub fn version() -> &'static str {
    unsafe { text::constant(sys::hak_version()) }
}

/// True when `p` lies in a block that HAKMEM handed out or could hand out. Any value may be asked about.
///
/// ```
/// let on_the_stack = 1;
/// assert!(!hakmem::owns(&on_the_stack));
/// ```
pub fn owns<T: ?Sized>(p: *const T) -> bool {
    unsafe { sys::hak_owns(p as *const c_void) }
}

/// Bytes that may be used at `p`, at least as many as were asked for; 0 for null.
///
/// # Safety
///
/// `p` is null or a live block of HAKMEM. Another pointer ends the program with one line.
pub unsafe fn usable_size(p: *const u8) -> usize {
    unsafe { sys::hak_usable_size(p as *const c_void) }
}

/// Usable bytes of all live blocks: exact when no other thread is inside a call.
pub fn bytes_in_use() -> usize {
    unsafe { sys::hak_bytes_in_use() }
}

/// Gives free memory back to the kernel, empty pages inside slabs too, but for about `pad` bytes of free runs. True when
/// any page went back. HAKMEM does so unasked; this is for who knows that a quiet time begins.
///
/// ```
/// hakmem::trim(0);
/// ```
pub fn trim(pad: usize) -> bool {
    unsafe { sys::hak_trim(pad) }
}

/// Limits in bytes on what HAKMEM's blocks may take, 0 for none: above `soft` free memory goes back first, more than
/// `hard` is refused. A limit below what is in use is counted (`unsaid`), once.
///
/// ```
/// hakmem::set_limit(256 << 20, 512 << 20)?;
/// assert_eq!(hakmem::set_limit(2 << 20, 1 << 20), Err(hakmem::Error::Invalid));
/// # Ok::<(), hakmem::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Invalid`]: `hard` is not 0 and below `soft`, or one is too large; nothing was changed.
pub fn set_limit(soft: usize, hard: usize) -> Result<(), Error> {
    Error::check(unsafe { sys::hak_set_limit(soft, hard) })
}

/// What memory is used for: see [`stats`]. Sizes in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Usable bytes of live blocks.
    pub in_use: u64,
    /// Free blocks in threads' magazines and depots.
    pub cached: u64,
    /// Address space of open slabs.
    pub slab_bytes: u64,
    /// Blocks out of slabs: live or cached.
    pub slab_live: u64,
    /// Runs out, 32 KiB up to the big threshold: live or cached.
    pub large_live: u64,
    /// Live blocks above it.
    pub big_live: u64,
    /// Freed big blocks kept for re-use.
    pub big_cached: u64,
    /// Free runs that still hold pages.
    pub span_dirty: u64,
    /// Free runs that hold none.
    pub span_clean: u64,
    /// HAKMEM's own tables.
    pub metadata: u64,
    /// Address space mapped in all.
    pub mapped: u64,
    /// Thread contexts in use: a number.
    pub threads: u64,
    /// Live blocks above the big threshold: their number.
    pub big_blocks: u64,
}

/// What memory is used for, at this moment.
///
/// ```
/// #[global_allocator]
/// static GLOBAL: hakmem::HakMem = hakmem::HakMem;
///
/// let before = hakmem::stats().big_live;
/// let big = vec![1_u8; 8 << 20];
/// assert!(hakmem::stats().big_live >= before + big.len() as u64);
/// ```
pub fn stats() -> Stats {
    let mut s = sys::hak_stats {
        version: sys::HAK_STATS_VERSION,
        size: size_of::<sys::hak_stats>() as u32,
        ..Default::default()
    };
    let refused = unsafe { sys::hak_get_stats(&mut s) };
    debug_assert_eq!(refused, 0);
    Stats {
        in_use: s.in_use,
        cached: s.cached,
        slab_bytes: s.slab_bytes,
        slab_live: s.slab_live,
        large_live: s.large_live,
        big_live: s.big_live,
        big_cached: s.big_cached,
        span_dirty: s.span_dirty,
        span_clean: s.span_clean,
        metadata: s.metadata,
        mapped: s.mapped,
        threads: s.threads,
        big_blocks: s.big_blocks,
    }
}

/// How full the slab is that a block lies in: see [`utilization`]. Blocks that are out are live or in a thread's cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Utilization {
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
    /// Some thread takes its new blocks from this slab.
    pub current: bool,
    /// Not so, it has room, and is no fuller than those slabs are on average, or by an eighth.
    pub worth_moving: bool,
}

/// How full the slab is that the block at `p` lies in, for who defragments by moving blocks: free what was moved some
/// hundred at a time, as the block that a thread freed last is the one it gets next. None: `p` lies in no block of
/// HAKMEM's. Any value may be asked about.
///
/// ```
/// #[global_allocator]
/// static GLOBAL: hakmem::HakMem = hakmem::HakMem;
///
/// let block = Box::new([0_u8; 1000]);
/// assert_eq!(hakmem::utilization(&*block).unwrap().block_bytes, 1024);
/// let on_the_stack = 1;
/// assert!(hakmem::utilization(&on_the_stack).is_none());
/// ```
pub fn utilization<T: ?Sized>(p: *const T) -> Option<Utilization> {
    let mut u = sys::hak_utilization {
        version: sys::HAK_UTILIZATION_VERSION,
        size: size_of::<sys::hak_utilization>() as u32,
        ..Default::default()
    };
    if unsafe { sys::hak_page_utilization(p as *const c_void, &mut u) } != 0 {
        return None;
    }
    Some(Utilization {
        block_bytes: u.block_bytes,
        slab_bytes: u.slab_bytes,
        slab_blocks: u.slab_blocks,
        slab_out: u.slab_out,
        class_slabs: u.class_slabs,
        class_out: u.class_out,
        page_bytes: u.page_bytes,
        page_out: u.page_out,
        current: u.current != 0,
        worth_moving: u.worth_moving != 0,
    })
}

/// One counter of HAKMEM: see [`counters`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counter {
    /// Its name, as in `tables/counters.def`.
    pub name: &'static str,
    /// What it has come to.
    pub value: u64,
}

/// All counters, one after the other: what [`counters`] gives.
#[derive(Debug, Clone)]
pub struct Counters {
    next: c_uint,
}

impl Iterator for Counters {
    type Item = Counter;

    fn next(&mut self) -> Option<Counter> {
        let (mut name, mut value) = (ptr::null(), 0);
        if !unsafe { sys::hak_counter(self.next, &mut name, &mut value) } {
            return None;
        }
        self.next += 1;
        Some(Counter { name: unsafe { text::constant(name) }, value })
    }
}

/// All counters. Calls are counted by the route they took while the setting `count_calls` is on.
///
/// ```
/// for counter in hakmem::counters() {
///     println!("{:>12} {}", counter.value, counter.name);
/// }
/// ```
pub fn counters() -> Counters {
    Counters { next: 0 }
}

/// The counter of that name; None when there is none.
///
/// ```
/// assert!(hakmem::counter("kernel_map").is_some());
/// ```
pub fn counter(name: &str) -> Option<u64> {
    counters().find(|counter| counter.name == name).map(|counter| counter.value)
}
