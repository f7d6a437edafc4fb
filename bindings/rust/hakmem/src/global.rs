/* SPDX-License-Identifier: MIT OR Apache-2.0 */
//! The allocator.

use core::alloc::{GlobalAlloc, Layout};
use core::ffi::c_void;
use core::ptr;

use hakmem_sys as sys;

/// Every block is aligned so, whatever its size.
pub(crate) const USUAL_ALIGN: usize = 16;

/// Blocks from here on begin with a page, and fresh pages are zero: those are not written to.
const PAGES_BYTES: usize = 64 << 10;

/// HAKMEM, for `#[global_allocator]`.
///
/// ```
/// use hakmem::HakMem;
///
/// #[global_allocator]
/// static GLOBAL: HakMem = HakMem;
///
/// assert!(hakmem::owns(&*Box::new(1)));
/// ```
///
/// # Errors
///
/// Null when there is no memory, when the [limit](crate::set_limit) is reached, or for a block larger than
/// `isize::MAX`; the block that was to grow is as it was. A layout of zero bytes, which the trait forbids, gives a block
/// of its own. A pointer that HAKMEM did not hand out, or that was freed already, ends the program with one line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HakMem;

fn is_usual(layout: Layout) -> bool {
    layout.align() <= USUAL_ALIGN
}

fn is_aligned(p: *mut c_void, align: usize) -> bool {
    p as usize & (align - 1) == 0
}

fn alloc_aligned(layout: Layout) -> *mut u8 {
    unsafe { sys::hak_aligned_alloc(layout.align(), layout.size()) as *mut u8 }
}

/// calloc knows which memory is zero already, but of no alignment; most large blocks have it all the same.
fn alloc_zeroed_pages(layout: Layout) -> Option<*mut u8> {
    unsafe {
        let p = sys::hak_calloc(1, layout.size());
        if is_aligned(p, layout.align()) {
            return Some(p as *mut u8);
        }
        sys::hak_free_sized(p, layout.size());
        None
    }
}

fn alloc_zeroed_aligned(layout: Layout) -> *mut u8 {
    if layout.size() >= PAGES_BYTES {
        if let Some(p) = alloc_zeroed_pages(layout) {
            return p;
        }
    }
    let p = alloc_aligned(layout);
    if !p.is_null() {
        unsafe { ptr::write_bytes(p, 0, layout.size()) };
    }
    p
}

/// hak_realloc keeps no alignment but the usual one, so a block that cannot stay is copied.
unsafe fn realloc_aligned(p: *mut u8, layout: Layout, n: usize) -> *mut u8 {
    unsafe {
        let usable = sys::hak_usable_size(p as *const c_void);
        if n <= usable && n >= usable / 2 {
            return p;
        }
        let new = sys::hak_aligned_alloc(layout.align(), n) as *mut u8;
        if !new.is_null() {
            ptr::copy_nonoverlapping(p, new, layout.size().min(n));
            sys::hak_free_aligned_sized(p as *mut c_void, layout.align(), layout.size());
        }
        new
    }
}

unsafe impl GlobalAlloc for HakMem {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_usual(layout) {
            return unsafe { sys::hak_malloc(layout.size()) as *mut u8 };
        }
        alloc_aligned(layout)
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_usual(layout) {
            return unsafe { sys::hak_calloc(1, layout.size()) as *mut u8 };
        }
        alloc_zeroed_aligned(layout)
    }

    #[inline]
    unsafe fn realloc(&self, p: *mut u8, layout: Layout, n: usize) -> *mut u8 {
        if is_usual(layout) {
            return unsafe { sys::hak_realloc(p as *mut c_void, n) as *mut u8 };
        }
        unsafe { realloc_aligned(p, layout, n) }
    }

    #[inline]
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        let p = p as *mut c_void;
        if is_usual(layout) {
            return unsafe { sys::hak_free_sized(p, layout.size()) };
        }
        unsafe { sys::hak_free_aligned_sized(p, layout.align(), layout.size()) }
    }
}
