# SPDX-License-Identifier: MIT OR Apache-2.0
use strict; use warnings;
# Words of made text are counted, joined and sorted.
my ($state, %count, @lines) = (1);
for my $line (1 .. 6000) {
  my @words;
  for (1 .. 12) { $state = ($state * 1103515245 + 12345) % 2147483648; push @words, "w" . ($state >> 8) % 5000; }
  push @lines, join(" ", @words);
}
for my $line (@lines) { $count{$_}++ for split / /, $line; }
my @most = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
print scalar(@most), " $most[0] $count{$most[0]}\n";
