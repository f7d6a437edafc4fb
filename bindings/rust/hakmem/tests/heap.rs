/* SPDX-License-Identifier: MIT OR Apache-2.0 */
//! What goes beyond allocating. One test, as all of it is about the process as a whole.

use std::alloc::{GlobalAlloc, Layout};
use std::time::Duration;

use hakmem::{Error, HakMem};

#[global_allocator]
static GLOBAL: HakMem = HakMem;

hakmem::options!("huge_pages=off,count_calls=on");

const MIB: usize = 1 << 20;

fn settings() {
    assert_eq!(hakmem::get("huge_pages").as_deref(), Ok("off"));
    assert_eq!(hakmem::get("count_calls").as_deref(), Ok("on"));
    assert_eq!(hakmem::set("price", "lean"), Ok(()));
    assert_eq!(hakmem::get("price").as_deref(), Ok("lean"));
    assert_eq!(hakmem::set("price", "dear"), Err(Error::Invalid));
    assert_eq!(hakmem::set("colour", "red"), Err(Error::Unknown));
    assert_eq!(hakmem::set("lab_big_threshold", "1M"), Err(Error::OnlyAtStart));
    assert_eq!(hakmem::set("price\0", "lean"), Err(Error::Unknown));
    assert_eq!(hakmem::set("price", "le\0an"), Err(Error::Invalid));
    assert_eq!(Error::OnlyAtStart.to_string(), "can only be set at start");
}

fn counters() {
    let before = hakmem::counter("alloc_magazine").unwrap();
    let kept: Vec<Box<u64>> = (0..1000).map(Box::new).collect();
    assert!(hakmem::counter("alloc_magazine").unwrap() >= before + 900, "{} blocks", kept.len());
    assert_eq!(hakmem::counter("colour"), None);
    assert!(hakmem::counters().all(|counter| !counter.name.is_empty()));
}

fn statistics() {
    let before = hakmem::stats();
    let big = vec![1_u8; 8 * MIB];
    let after = hakmem::stats();
    assert!(after.big_live >= before.big_live + 8 * MIB as u64 && after.big_blocks == before.big_blocks + 1);
    assert!(after.in_use >= big.len() as u64 && after.mapped >= after.in_use && after.threads >= 1);
    assert!(hakmem::bytes_in_use() >= big.len());
    assert_eq!(hakmem::version(), env!("CARGO_PKG_VERSION"));
}

fn memory_goes_back() {
    drop(vec![vec![1_u8; 100_000]; 100]);
    hakmem::trim(0);
    assert_eq!(hakmem::stats().span_dirty, 0);
}

fn drop_limit(bytes: usize) -> bool {
    assert_eq!(bytes, 4096 * MIB);
    hakmem::set_limit(0, 0).is_ok()
}

fn limits() {
    hakmem::set_limit(0, hakmem::stats().mapped as usize + 64 * MIB).unwrap();
    assert!(Vec::<u8>::new().try_reserve_exact(4096 * MIB).is_err());
    hakmem::set_oom_handler(Some(drop_limit));
    assert!(Vec::<u8>::new().try_reserve_exact(4096 * MIB).is_ok());
    hakmem::set_oom_handler(None);
    assert_eq!(hakmem::set_limit(2 * MIB, MIB), Err(Error::Invalid));
    hakmem::set_limit(0, 0).unwrap();
    assert!(Vec::<u8>::new().try_reserve_exact(4096 * MIB).is_ok());
}

fn call_sites() {
    let (site, layout) = (hakmem::site!(), Layout::from_size_align(3 * MIB, 8).unwrap());
    site.keep(Duration::from_secs(2)).unwrap();
    let block = hakmem::alloc_at(layout, site).unwrap();
    let row = hakmem::sites().find(|row| row.address == site.address()).unwrap();
    assert_eq!((row.count, row.live), (1, 1));
    assert!(row.bytes >= 3 * MIB as u64 && row.keep >= Duration::from_secs(2), "{row:?}");
    unsafe { HakMem.dealloc(block.as_ptr(), layout) };
    let row = hakmem::sites().find(|row| row.address == site.address()).unwrap();
    assert_eq!((row.count, row.live, row.live_bytes), (1, 0, 0));
    // musl knows no names in a program that is linked statically
    let part = if cfg!(all(target_env = "musl", target_feature = "crt-static")) { "0x" } else { "heap-" };
    assert!(hakmem::site_name(row.address).contains(part), "{}", hakmem::site_name(row.address));
    let aligned = Layout::from_size_align(100, 4096).unwrap();
    let block = hakmem::alloc_at(aligned, site).unwrap();
    assert_eq!(block.as_ptr() as usize % 4096, 0);
    unsafe { HakMem.dealloc(block.as_ptr(), aligned) };
}

#[cfg(feature = "std")]
fn policies() {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    const ENODATA: i32 = 61;
    const EBADMSG: i32 = 74;
    const EPERM: i32 = 1;
    let folder = std::env::temp_dir().join(format!("hakmem-{}", std::process::id()));
    std::fs::DirBuilder::new().mode(0o700).create(&folder).unwrap(); // no file is trusted that others could have written
    let file = folder.join("policy");
    assert_eq!(hakmem::policy_save(Some(&file)).unwrap_err().raw_os_error(), Some(ENODATA));
    assert_eq!(hakmem::policy_load(Some(&file)).unwrap_err().kind(), std::io::ErrorKind::NotFound);
    std::fs::write(&file, "no policy").unwrap();
    assert_eq!(hakmem::policy_load(Some(&file)).unwrap_err().raw_os_error(), Some(EBADMSG));
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(hakmem::policy_load(Some(&file)).unwrap_err().raw_os_error(), Some(EPERM));
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(hakmem::policy_save(None).unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
    assert!(hakmem::policy_load(Some("a\0b".as_ref())).is_err());
}

#[cfg(not(feature = "std"))]
fn policies() {}

#[test]
fn the_heap_as_a_whole() {
    settings();
    counters();
    statistics();
    memory_goes_back();
    limits();
    call_sites();
    policies();
}
