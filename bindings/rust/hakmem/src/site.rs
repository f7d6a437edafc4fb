/* SPDX-License-Identifier: MIT OR Apache-2.0 */
//! Call sites: who asked for blocks, and what became of them.

use alloc::string::String;
use core::alloc::Layout;
use core::ffi::c_void;
use core::mem::size_of;
use core::ptr::NonNull;
use core::time::Duration;

use hakmem_sys as sys;
use hakmem_sys::c_uint;

use crate::error::Error;
use crate::global::{HakMem, USUAL_ALIGN};
use crate::text;

/// A label for who asks for blocks; those of one label are expected to behave alike. It is an address, of anything that
/// stays: [`site!`](crate::site) makes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Site(usize);

/// A [`Site`] of its own for the place where it is written.
///
/// ```
/// let (here, there) = (hakmem::site!(), hakmem::site!());
/// assert_ne!(here, there);
/// ```
#[macro_export]
macro_rules! site {
    () => {{
        static PLACE: u8 = 0;
        $crate::Site::of(&PLACE)
    }};
}

impl Site {
    /// Labelled by the address of `place`.
    pub fn of<T: ?Sized>(place: &'static T) -> Site {
        Site(place as *const T as *const u8 as usize)
    }

    /// The address that is the label.
    pub fn address(self) -> u64 {
        self.0 as u64
    }

    /// For how long memory stays that this site's blocks of a MiB and more leave free: that long, or up to twice as long
    /// (64 ms to 17 minutes), whatever the price, unless memory is short. Zero: as the price says. Counts for blocks had
    /// after it.
    ///
    /// ```
    /// hakmem::site!().keep(std::time::Duration::from_secs(2))?;
    /// # Ok::<(), hakmem::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoRoom`]: too many sites are in use.
    pub fn keep(self, time: Duration) -> Result<(), Error> {
        let ms = time.as_millis().min(usize::MAX as u128) as usize;
        Error::check(unsafe { sys::hak_keep_at(self.0 as *const c_void, ms) })
    }
}

/// A block of that layout, labelled with who asks. It is given back as any block of [`HakMem`]: by
/// [`dealloc`](core::alloc::GlobalAlloc::dealloc), with the same layout. The label is lost where `layout` wants more than
/// 16 bytes of alignment.
///
/// ```
/// use std::alloc::{GlobalAlloc, Layout};
///
/// let layout = Layout::array::<u8>(1 << 20)?;
/// let block = hakmem::alloc_at(layout, hakmem::site!()).expect("memory");
/// unsafe { hakmem::HakMem.dealloc(block.as_ptr(), layout) };
/// # Ok::<(), std::alloc::LayoutError>(())
/// ```
///
/// # Errors
///
/// None when there is no memory, or the [limit](crate::set_limit) is reached.
pub fn alloc_at(layout: Layout, site: Site) -> Option<NonNull<u8>> {
    use core::alloc::GlobalAlloc;
    let p = if layout.align() <= USUAL_ALIGN {
        unsafe { sys::hak_alloc_at(layout.size(), site.0 as *const c_void) as *mut u8 }
    } else {
        unsafe { HakMem.alloc(layout) }
    };
    NonNull::new(p)
}

/// A call site and what became of its blocks: see [`sites`]. A row that changes meanwhile may be of two moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SiteStats {
    /// What the call returns to, or the [address](Site::address) of the label.
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
    /// How long those that were freed lived, in all.
    pub lifetime: Duration,
    /// How often what it freed was taken again (big blocks).
    pub gaps: u64,
    /// And after how long, in all.
    pub gap: Duration,
    /// Of its blocks: had without a page from the kernel.
    pub hits: u64,
    /// Pages that the kernel gave for the others.
    pub fetched: u64,
    /// Bit k: a block of 2^k bytes, or up to twice as many, was had.
    pub sizes: u64,
    /// For how long what it leaves free [stays](Site::keep); zero: as the price says.
    pub keep: Duration,
}

fn row(s: &sys::hak_site_stats) -> SiteStats {
    SiteStats {
        address: s.address,
        depth: s.depth,
        count: s.count,
        bytes: s.bytes,
        live: s.live,
        live_bytes: s.live_bytes,
        lifetime: Duration::from_millis(s.lifetime_ms),
        gaps: s.gaps,
        gap: Duration::from_millis(s.gap_ms),
        hits: s.hits,
        fetched: s.fetched,
        sizes: s.sizes,
        keep: Duration::from_millis(s.keep_ms),
    }
}

/// All call sites, one after the other: what [`sites`] gives.
#[derive(Debug, Clone)]
pub struct Sites {
    next: c_uint,
}

impl Iterator for Sites {
    type Item = SiteStats;

    fn next(&mut self) -> Option<SiteStats> {
        loop {
            let mut s = sys::hak_site_stats {
                version: sys::HAK_SITE_VERSION,
                size: size_of::<sys::hak_site_stats>() as u32,
                ..Default::default()
            };
            if !unsafe { sys::hak_site(self.next, &mut s) } {
                return None;
            }
            self.next += 1;
            if s.address != 0 {
                return Some(row(&s));
            }
        }
    }
}

/// All call sites that asked for blocks of 64 KiB and more, and what [`alloc_at`] handed out; the setting `site_all_sizes` widens
/// that. A site that serves many purposes has a row for each depth of the stack.
///
/// ```
/// for site in hakmem::sites() {
///     println!("{} blocks, {} bytes: {}", site.count, site.bytes, hakmem::site_name(site.address));
/// }
/// ```
pub fn sites() -> Sites {
    Sites { next: 0 }
}

/// A name of that address: `symbol+0x12 (module)`, or `module+0x1234`, or the number when it lies in no module that is
/// loaded.
///
/// ```
/// assert_eq!(hakmem::site_name(0x10), "0x10");
/// ```
pub fn site_name(address: u64) -> String {
    let named = text::written(sys::HAK_SITE_NAME_BYTES, |out, size| {
        let fits = unsafe { sys::hak_site_name(address, out, size) } == 0;
        fits.then(|| Ok::<(), ()>(()))
    });
    named.unwrap_or_default()
}
