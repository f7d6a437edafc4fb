# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs that the commands run when none is given. They import nothing from this package."""
