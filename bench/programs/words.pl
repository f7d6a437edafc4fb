# SPDX-License-Identifier: MIT OR Apache-2.0
# words.pl: what the benchmark gives perl: hashes of arrays, strings that grow, regular expressions, sorting.
use strict;
use warnings;

my $state = 2026;

sub below {
    my ($bound) = @_;
    $state = ($state * 1103515245 + 12345) % 2147483648;
    return ($state >> 16) % $bound;
}

sub word {
    return join '', map { chr(97 + below(26)) } 1 .. 2 + below(10);
}

sub document {
    my ($words) = @_;
    return join ' ', map { below(12) ? word() : word() . '.' } 1 .. $words;
}

sub index_of {
    my ($text) = @_;
    my (%places, $at);
    push @{ $places{ substr $1, 0, 3 } }, { word => $1, at => $at++ } while $text =~ /(\w+)/g;
    return \%places;
}

my $total = 0;
for my $round (1 .. 5) {
    my $places = index_of(document(9000));
    my @stems = sort { @{ $places->{$b} } <=> @{ $places->{$a} } || $a cmp $b } keys %$places;
    my $report = '';
    $report .= sprintf "%s:%s\n", $_, join ',', map { $_->{word} . '@' . $_->{at} } @{ $places->{$_} } for @stems;
    (my $short = $report) =~ s/([aeiou])\w+@/$1\@/g;
    my %seen;
    $seen{$_}++ for split /[,:\n]/, $short;
    $total += length($short) + keys %seen;
    print "$round $stems[0] ", scalar @stems, " $total\n";
}
