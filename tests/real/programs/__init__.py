"""One module per program that only `make programs` runs; written as those in cases/."""
