# SPDX-License-Identifier: MIT OR Apache-2.0
# Allocation-heavy perl: a text is made, taken apart, counted, sorted, written and read back; a child does it too.
use strict;
use warnings;

my $state = 12345;

sub next_number {
    my ($bound) = @_;
    $state = ($state * 1103515245 + 12345) % 2147483648;
    return int($state / 65536) % $bound;
}

sub word {
    return join '', map { chr(97 + next_number(26)) } 1 .. 1 + next_number(9);
}

my @words = map { word() } 1 .. 60_000;
my $text  = join ' ', @words;
my %count;
$count{$1}++ while $text =~ /(\w+)/g;
printf "%d words, %d different, %d bytes\n", scalar @words, scalar keys %count, length $text;

my @order = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
print "$_ $count{$_}\n" for @order[0 .. 19];

(my $swapped = $text) =~ s/([aeiou]+)([^aeiou ]+)/$2$1/g;
printf "swapped checksum %u\n", unpack '%32C*', $swapped;

my %tree;
for my $w (@words[0 .. 9999]) {
    my $node = \%tree;
    $node = $node->{$_} //= {} for split //, $w;
    $node->{end}++;
}

sub nodes {
    my ($node) = @_;
    my $n = 1;
    for my $key (keys %$node) { $n += nodes($node->{$key}) if ref $node->{$key} }
    return $n;
}
printf "trie of %d nodes\n", nodes(\%tree);
undef %tree;

my @adders = map { my $n = $_; sub { return $_[0] + $n } } 1 .. 5_000;
my $sum = 0;
$sum = $_->($sum) for @adders;
print "closures add up to $sum\n";

my $buffer = '';
$buffer .= 'x' x next_number(4096) for 1 .. 2_000;
printf "buffer of %d bytes\n", length $buffer;

open my $out, '>', 'words.txt' or die "words.txt: $!";
print {$out} "$_\t$count{$_}\n" for sort keys %count;
close $out;

my $pid = fork // die "fork: $!";
if ($pid == 0) {
    my %lengths;
    push @{ $lengths{ length $_ } }, uc for @words;
    open my $mine, '>', 'child.txt' or die "child.txt: $!";
    print {$mine} join(' ', map { "$_:" . scalar @{ $lengths{$_} } } sort { $a <=> $b } keys %lengths), "\n";
    close $mine;
    exit 0;
}
waitpid $pid, 0;
open my $in, '<', 'child.txt' or die "child.txt: $!";
print "child ended with $?: ", <$in>;
