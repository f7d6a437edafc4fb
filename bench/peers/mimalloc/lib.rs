/* SPDX-License-Identifier: MIT OR Apache-2.0 */
//! Nothing of its own: names the crate, which brings the sources: tests/instructions/mimalloc.sh.
extern crate libmimalloc_sys as _;
