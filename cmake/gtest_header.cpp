/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Nothing but <gtest/gtest.h>, which is precompiled for this target and shared by the tests.
