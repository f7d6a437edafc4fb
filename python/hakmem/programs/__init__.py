"""Programs that the commands run when none is given. They import nothing from this package."""
