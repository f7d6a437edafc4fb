/* SPDX-License-Identifier: MIT OR Apache-2.0 */
//! A whole program on HAKMEM: the test harness itself is served by it.

use std::alloc::{alloc, alloc_zeroed, dealloc, realloc, GlobalAlloc, Layout};
use std::collections::HashMap;
use std::sync::mpsc;
use std::thread;

use hakmem::HakMem;

#[global_allocator]
static GLOBAL: HakMem = HakMem;

/// Sizes on both sides of every border: words, classes, slabs, runs, big blocks.
const SIZES: [usize; 14] =
    [1, 8, 15, 16, 17, 1024, 1025, 4096, 32768, 32769, 262144, 262145, (1 << 20) + 1, 5 << 20];

fn layout(size: usize, align: usize) -> Layout {
    Layout::from_size_align(size, align).unwrap()
}

unsafe fn bytes<'a>(p: *mut u8, n: usize) -> &'a mut [u8] {
    std::slice::from_raw_parts_mut(p, n)
}

#[test]
fn blocks_are_hakmems() {
    let numbers: Vec<u64> = (0..1000).collect();
    assert!(hakmem::owns(numbers.as_ptr()));
    assert!(hakmem::owns(&*Box::new(1)));
    let local = 1;
    assert!(!hakmem::owns(&local));
    assert!(unsafe { hakmem::usable_size(numbers.as_ptr() as *const u8) } >= 8000);
}

#[test]
fn libc_goes_on_beside_it() {
    let block = layout(100, 8);
    unsafe {
        let p = std::alloc::System.alloc(block);
        assert!(!hakmem::owns(p));
        std::alloc::System.dealloc(p, block);
    }
}

#[test]
fn zero_bytes_give_blocks_of_their_own() {
    for align in [1, 16, 64, 4096] {
        let none = layout(0, align);
        unsafe {
            let (a, b) = (HakMem.alloc(none), HakMem.alloc_zeroed(none));
            assert!(!a.is_null() && !b.is_null() && a != b);
            assert_eq!(a as usize % align, 0);
            HakMem.dealloc(a, none);
            HakMem.dealloc(b, none);
        }
    }
    assert_eq!(Vec::<u8>::new(), Vec::with_capacity(0));
}

#[test]
fn every_alignment_of_every_size() {
    for size in SIZES {
        for shift in 0..22 {
            let block = layout(size, 1 << shift);
            unsafe {
                let p = alloc(block);
                assert_eq!(p as usize % block.align(), 0, "{block:?}");
                bytes(p, size).fill(0xA5);
                assert!(hakmem::usable_size(p) >= size && hakmem::owns(p));
                dealloc(p, block);
            }
        }
    }
}

#[test]
fn zeroed_is_zero_where_it_was_used_before() {
    for size in SIZES {
        for align in [1, 16, 64, 4096, 65536, 1 << 21] {
            let block = layout(size, align);
            unsafe {
                let used = alloc(block);
                bytes(used, size).fill(0xFF);
                dealloc(used, block);
                let p = alloc_zeroed(block);
                assert_eq!(p as usize % align, 0, "{block:?}");
                assert!(bytes(p, size).iter().all(|&byte| byte == 0), "{block:?}");
                dealloc(p, block);
            }
        }
    }
}

#[test]
fn large_zeroed_blocks_are_not_written_to() {
    let block = layout(256 << 20, 64);
    unsafe {
        let p = alloc_zeroed(block);
        assert!(!p.is_null());
        assert!(resident_pages() < (64 << 20) / 4096);
        dealloc(p, block);
    }
}

fn resident_pages() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn what_grows_and_shrinks_keeps_contents_and_alignment() {
    for align in [1, 16, 64, 4096] {
        let mut block = layout(1, align);
        unsafe {
            let mut p = alloc(block);
            *p = 7;
            for size in SIZES.iter().chain(SIZES.iter().rev()).copied() {
                let kept = block.size().min(size);
                p = realloc(p, block, size);
                assert!(!p.is_null() && p as usize % align == 0);
                block = layout(size, align);
                assert!(bytes(p, kept).iter().all(|&byte| byte == 7), "{block:?}");
                bytes(p, size).fill(7);
            }
            dealloc(p, block);
        }
    }
}

#[test]
fn a_vector_grows_by_pushing() {
    let mut numbers = Vec::new();
    for n in 0..1_000_000_u32 {
        numbers.push(n);
    }
    assert!(numbers.iter().enumerate().all(|(n, &value)| n as u32 == value));
}

#[test]
fn too_much_is_null_and_loses_nothing() {
    unsafe {
        let small = layout(100, 8);
        let p = alloc(small);
        bytes(p, 100).fill(9);
        let vast = isize::MAX as usize - 100;
        assert!(alloc(layout(vast, 8)).is_null());
        assert!(alloc_zeroed(layout(vast, 64)).is_null());
        assert!(realloc(p, small, vast).is_null());
        assert!(bytes(p, 100).iter().all(|&byte| byte == 9));
        dealloc(p, small);
    }
    assert!(Vec::<u8>::new().try_reserve(isize::MAX as usize).is_err());
}

#[test]
fn threads_free_what_others_allocated() {
    let (sender, receiver) = mpsc::channel::<HashMap<String, Vec<u8>>>();
    let makers: Vec<_> = (0..4)
        .map(|maker| {
            let sender = sender.clone();
            thread::spawn(move || {
                for round in 0..50 {
                    let map = (0..100).map(|n| (format!("{maker}.{round}.{n}"), vec![n as u8; n * 37])).collect();
                    sender.send(map).unwrap();
                }
            })
        })
        .collect();
    drop(sender);
    let mut seen = 0;
    for map in receiver {
        seen += map.values().filter(|value| value.iter().all(|&byte| usize::from(byte) * 37 == value.len())).count();
    }
    makers.into_iter().for_each(|maker| maker.join().unwrap());
    assert_eq!(seen, 4 * 50 * 100);
}

#[test]
fn many_short_threads() {
    for _ in 0..200 {
        let text = thread::spawn(|| "short".repeat(1000)).join().unwrap();
        assert_eq!(text.len(), 5000);
    }
}
