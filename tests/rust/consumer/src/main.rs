/* SPDX-License-Identifier: MIT OR Apache-2.0 */
//! Counts words in several threads, and says who served it.

use std::collections::HashMap;
use std::thread;

#[global_allocator]
static GLOBAL: hakmem::HakMem = hakmem::HakMem;

fn words(lines: usize) -> HashMap<String, usize> {
    let mut counted = HashMap::new();
    for line in 0..lines {
        *counted.entry(format!("word{}", line % 1000)).or_insert(0) += 1;
    }
    counted
}

fn main() {
    let threads: Vec<_> = (1..=4).map(|n| thread::spawn(move || words(n * 10_000))).collect();
    let maps: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    let total: usize = maps.iter().flat_map(HashMap::values).sum();
    let ours = maps.iter().flat_map(HashMap::keys).all(|word| hakmem::owns(word.as_ptr()));
    println!("words {total}, in HAKMEM {ours}, count {}", hakmem::get("count_calls").unwrap());
}
