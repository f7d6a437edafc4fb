/* SPDX-License-Identifier: MIT OR Apache-2.0 */
//! Nothing of its own: the archive holds the compiled allocator that the crate brings.
extern crate hardened_malloc_sys as _;
