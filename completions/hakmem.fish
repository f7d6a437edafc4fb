# SPDX-License-Identifier: MIT OR Apache-2.0
# hakmem.fish: completion of hakmem(1) for fish. Made by scripts/manual: not to be edited.

# Which command the line is at ("bench compare"), and " program" behind it inside a program that hakmem runs.
function __hakmem_at
    set -l at
    set -l value no
    for word in (commandline -opc)[2..-1]
        if test $value = yes
            set value no
        else if test "$word" = --
            set -a at program
            break
        else if string match -q -- '-*' $word
            contains -- "$at $word" $__hakmem_values; and set value yes
        else if contains -- (string trim -- "$at $word") $__hakmem_commands
            set -a at $word
        else if contains -- "$at" $__hakmem_runners
            set -a at program
            break
        end
    end
    echo "$at"
end

function __hakmem_is
    test (__hakmem_at) = "$argv"
end

# The words of a program are that program's to complete; those before it are hakmem's.
function __hakmem_program
    set -l words (commandline -opc)
    set -l skip 3 # the program's first word, if there is no option
    set -l value no
    for word in $words[3..-1]
        if test $value = yes
            set value no
        else if test "$word" = --
            set skip (math $skip + 1)
            break
        else if string match -q -- '-*' $word
            contains -- "$words[2] $word" $__hakmem_values; and set value yes
        else
            break
        end
        set skip (math $skip + 1)
    end
    set -a words (commandline -ct)
    string match -q -- '-*' $words[$skip]; or complete -C "$words[$skip..-1]"
end

complete -c hakmem -f
set -g __hakmem_commands 'run' 'exec' 'top' 'report' 'profile' 'explain' 'doctor' 'address' 'crash' 'decisions' 'env' 'learn' 'path' 'policy' 'replay' 'sites' 'stats' 'trace'
set -g __hakmem_values 'run --runs' 'run --peer' 'run --allocators' 'run --load' 'run --rest' 'run --html' 'run --stdin' 'run --build' 'run --library' 'exec --mode' 'exec --price' 'exec --set' 'exec --build' 'exec --library' 'top --interval' 'report --output' 'report -o' 'report --seconds' 'report --file' 'profile --output' 'profile -o' 'profile --since' 'profile --for' 'profile --rows' 'profile --by' 'profile --seconds' 'explain --seconds' 'doctor --build' 'doctor --library' 'address --pid' 'address -p' 'decisions --replay' 'decisions --last' 'decisions --build' 'env --shell' 'env --mode' 'env --price' 'env --set' 'env --build' 'env --library' 'learn --output' 'learn -o' 'learn --runs' 'learn --mode' 'learn --build' 'learn --library' 'path --flavour' 'path --build' 'replay --allocator' 'replay --rounds' 'replay --touch' 'replay --process' 'replay --build' 'replay --library' 'sites --trace' 'sites --least' 'sites --rows' 'sites --csv' 'sites --build' 'sites --library' 'trace --output' 'trace -o' 'trace --build' 'trace --library'
set -g __hakmem_runners 'run' 'exec' 'doctor' 'learn' 'sites' 'trace'

complete -c hakmem -n '__hakmem_is ' -a run -d 'Run a program on HAKMEM and on glibc, and say what each needed: or on all allocators'
complete -c hakmem -n '__hakmem_is ' -a exec -d 'Run a program once on HAKMEM, by becoming it'
complete -c hakmem -n '__hakmem_is ' -a top -d 'Watch why a process is as large as it is, and what it does: or print it, with --once'
complete -c hakmem -n '__hakmem_is ' -a report -d 'Make one HTML page of a heap profile: what holds memory, blocks by size and age, and of a process what RSS is'
complete -c hakmem -n '__hakmem_is ' -a profile -d 'Say what holds memory, by function or by stack: the one that asked for it; of two profiles, what grew'
complete -c hakmem -n '__hakmem_is ' -a explain -d 'Say what holds a process\'s memory, why, and what would change it: most bytes first'
complete -c hakmem -n '__hakmem_is ' -a doctor -d 'Say whether HAKMEM would serve a program here, and what to change'
complete -c hakmem -n '__hakmem_is ' -a address -d 'Say what an address of a running process is: block, class, slab, state, and which call site asked for it'
complete -c hakmem -n '__hakmem_is ' -a crash -d 'Name functions and lines in the report of a guarded block: an overflow, a use after free, a wrong free'
complete -c hakmem -n '__hakmem_is ' -a decisions -d 'Say which keep times a process chose anew, and from how many waits'
complete -c hakmem -n '__hakmem_is ' -a env -d 'Print what makes all that a shell starts run on HAKMEM: eval "$(hakmem env)"'
complete -c hakmem -n '__hakmem_is ' -a learn -d 'Run a program several times, and keep the learnt policy: what later runs of its programs go on from'
complete -c hakmem -n '__hakmem_is ' -a path -d 'Print where the library is'
complete -c hakmem -n '__hakmem_is ' -a policy -d 'Say what a policy holds: a file or a folder of them, what runs cost, and how long free memory stays'
complete -c hakmem -n '__hakmem_is ' -a replay -d 'Repeat a trace on HAKMEM, glibc and others: what a program asked of malloc, and what each allocator needed'
complete -c hakmem -n '__hakmem_is ' -a sites -d 'Say which places ask for memory, and what becomes of it'
complete -c hakmem -n '__hakmem_is ' -a stats -d 'The same as top --once'
complete -c hakmem -n '__hakmem_is ' -a trace -d 'Run a program on HAKMEM and write every call of its allocator: to a file'
complete -c hakmem -n '__hakmem_is ' -l version -d 'Print the version and exit'
complete -c hakmem -n '__hakmem_is ' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is run' -xa '(__hakmem_program)'
complete -c hakmem -n '__hakmem_is run program' -xa '(__hakmem_program)'
complete -c hakmem -n '__hakmem_is run' -l peers -d 'On all allocators, with memory over time'
complete -c hakmem -n '__hakmem_is run' -l runs -x -d 'Timed runs on each allocator'
complete -c hakmem -n '__hakmem_is run' -l peer -rF -d 'With --peers: a further library'
complete -c hakmem -n '__hakmem_is run' -l allocators -x -d 'With --peers: these only, beside HAKMEM and glibc'
complete -c hakmem -n '__hakmem_is run' -l load -x -d 'With --peers: what loads the program, a service, as a line of a shell'
complete -c hakmem -n '__hakmem_is run' -l rest -x -d 'With --peers: for how long a service is watched behind the load, without one from its start, 0.1 at least'
complete -c hakmem -n '__hakmem_is run' -l html -rF -d 'With --peers: a page with the same figures and curves, which loads nothing'
complete -c hakmem -n '__hakmem_is run' -l stdin -rF -d 'What every run reads as standard input; - reads this command\'s own first'
complete -c hakmem -n '__hakmem_is run' -l secure -d 'On libhakmem-secure.so, which ends the program at an error of memory (docs/security.md)'
complete -c hakmem -n '__hakmem_is run' -l build -xa '(__fish_complete_directories)' -d 'Where libhakmem.so and the tools were built'
complete -c hakmem -n '__hakmem_is run' -l library -rF -d 'Another build of libhakmem.so to run on'
complete -c hakmem -n '__hakmem_is run' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is exec' -xa '(__hakmem_program)'
complete -c hakmem -n '__hakmem_is exec program' -xa '(__hakmem_program)'
complete -c hakmem -n '__hakmem_is exec' -l mode -x -d 'Short for --set mode=MODE'
complete -c hakmem -n '__hakmem_is exec' -l price -x -d 'Short for --set price=PRICE: speed, balanced, lean, or a number'
complete -c hakmem -n '__hakmem_is exec' -l secure -d 'On libhakmem-secure.so, which ends the program at an error of memory (docs/security.md)'
complete -c hakmem -n '__hakmem_is exec' -l stats -d 'A small parent waits, and says on stderr at the end what the program used'
complete -c hakmem -n '__hakmem_is exec' -l profile -d 'A small parent waits, and prints the holders of memory on stderr, however the program ends'
complete -c hakmem -n '__hakmem_is exec' -l children -d 'With --profile: a file for each other process that the program started, too'
complete -c hakmem -n '__hakmem_is exec' -l watch -d 'It keeps what cannot be had afterwards: samples with their stacks from the first block on, and those of the peak, in FILE.PID, which hakmem top, profile and report read of its PID, also after its end'
complete -c hakmem -n '__hakmem_is exec' -l set -x -d 'A setting (docs/guide/settings.md)'
complete -c hakmem -n '__hakmem_is exec' -l build -xa '(__fish_complete_directories)' -d 'Where libhakmem.so and the tools were built'
complete -c hakmem -n '__hakmem_is exec' -l library -rF -d 'Another build of libhakmem.so to run on'
complete -c hakmem -n '__hakmem_is exec' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is top' -F
complete -c hakmem -n '__hakmem_is top' -l once -d 'Print once what the process counts and holds, and all that it learnt'
complete -c hakmem -n '__hakmem_is top' -l json -d 'With --once: print JSON'
complete -c hakmem -n '__hakmem_is top' -l prometheus -d 'With --once: print text for Prometheus, as for its textfile collector'
complete -c hakmem -n '__hakmem_is top' -l interval -x -d 'How often the process is looked at'
complete -c hakmem -n '__hakmem_is top' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is report' -F
complete -c hakmem -n '__hakmem_is report' -l output -s o -rF -d 'Where the page goes'
complete -c hakmem -n '__hakmem_is report' -l seconds -x -d 'For how long a process is watched'
complete -c hakmem -n '__hakmem_is report' -l file -rF -d 'Of a process: where it writes its profile, if it overwrote its environment (as redis does) and that cannot be found out'
complete -c hakmem -n '__hakmem_is report' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is profile' -F
complete -c hakmem -n '__hakmem_is profile' -l output -s o -rF -d 'Write the profile there, named and gzipped, for go tool pprof and the like'
complete -c hakmem -n '__hakmem_is profile' -l leaks -d 'The live blocks by stack, instead of functions'
complete -c hakmem -n '__hakmem_is profile' -l peak -d 'The blocks live at the peak, instead of those live in the end'
complete -c hakmem -n '__hakmem_is profile' -l temporary -d 'Of all blocks that ever were, those that their thread freed before its next request'
complete -c hakmem -n '__hakmem_is profile' -l since -x -d 'What grew and shrank since that profile, which may be of the same process or another run'
complete -c hakmem -n '__hakmem_is profile' -l for -x -d 'What grew and shrank within so many seconds from now, in a process that was started with a profile'
complete -c hakmem -n '__hakmem_is profile' -l rows -x -d 'So many functions or stacks; 0: all'
complete -c hakmem -n '__hakmem_is profile' -l by -x -d 'Order functions by inuse_space, inuse_objects, alloc_space or alloc_objects'
complete -c hakmem -n '__hakmem_is profile' -l seconds -x -d 'For how long a process that was started without a profile samples'
complete -c hakmem -n '__hakmem_is profile' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is explain' -l seconds -x -d 'Look again after so many seconds, and say what grew'
complete -c hakmem -n '__hakmem_is explain' -l json -d 'Print JSON'
complete -c hakmem -n '__hakmem_is explain' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is doctor' -xa '(__hakmem_program)'
complete -c hakmem -n '__hakmem_is doctor program' -xa '(__hakmem_program)'
complete -c hakmem -n '__hakmem_is doctor' -l json -d 'Print JSON'
complete -c hakmem -n '__hakmem_is doctor' -l secure -d 'On libhakmem-secure.so, which ends the program at an error of memory (docs/security.md)'
complete -c hakmem -n '__hakmem_is doctor' -l build -xa '(__fish_complete_directories)' -d 'Where libhakmem.so and the tools were built'
complete -c hakmem -n '__hakmem_is doctor' -l library -rF -d 'Another build of libhakmem.so to run on'
complete -c hakmem -n '__hakmem_is doctor' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is address' -l pid -s p -x -d 'The process'
complete -c hakmem -n '__hakmem_is address' -l json -d 'Print JSON'
complete -c hakmem -n '__hakmem_is address' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is crash' -F
complete -c hakmem -n '__hakmem_is crash' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is decisions' -F
complete -c hakmem -n '__hakmem_is decisions' -l replay -rF -d 'Decide anew from a file of HAKMEM_LAB_LEARN_LOG; with PID|FILE: compare only'
complete -c hakmem -n '__hakmem_is decisions' -l csv -d 'Print them as CSV'
complete -c hakmem -n '__hakmem_is decisions' -l last -x -d 'Only the last N; 0: all'
complete -c hakmem -n '__hakmem_is decisions' -l build -xa '(__fish_complete_directories)' -d 'Where libhakmem.so and the tools were built'
complete -c hakmem -n '__hakmem_is decisions' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is env' -l shell -x -d 'sh, bash, zsh or fish'
complete -c hakmem -n '__hakmem_is env' -l mode -x -d 'Short for --set mode=MODE'
complete -c hakmem -n '__hakmem_is env' -l price -x -d 'Short for --set price=PRICE: speed, balanced, lean, or a number'
complete -c hakmem -n '__hakmem_is env' -l secure -d 'On libhakmem-secure.so, which ends the program at an error of memory (docs/security.md)'
complete -c hakmem -n '__hakmem_is env' -l set -x -d 'A setting (docs/guide/settings.md)'
complete -c hakmem -n '__hakmem_is env' -l build -xa '(__fish_complete_directories)' -d 'Where libhakmem.so and the tools were built'
complete -c hakmem -n '__hakmem_is env' -l library -rF -d 'Another build of libhakmem.so to run on'
complete -c hakmem -n '__hakmem_is env' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is learn' -xa '(__hakmem_program)'
complete -c hakmem -n '__hakmem_is learn program' -xa '(__hakmem_program)'
complete -c hakmem -n '__hakmem_is learn' -l output -s o -rF -d 'The policy; the run goes on from one that is there'
complete -c hakmem -n '__hakmem_is learn' -l runs -x -d 'How often it runs'
complete -c hakmem -n '__hakmem_is learn' -l mode -x -d 'evolving: what is learnt is done at once'
complete -c hakmem -n '__hakmem_is learn' -l build -xa '(__fish_complete_directories)' -d 'Where libhakmem.so and the tools were built'
complete -c hakmem -n '__hakmem_is learn' -l library -rF -d 'Another build of libhakmem.so to run on'
complete -c hakmem -n '__hakmem_is learn' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is path' -l flavour -x -d 'preload, secure, static, override, or dl (see docs/guide/build-systems.md)'
complete -c hakmem -n '__hakmem_is path' -l build -xa '(__fish_complete_directories)' -d 'Where libhakmem.so and the tools were built'
complete -c hakmem -n '__hakmem_is path' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is policy' -F
complete -c hakmem -n '__hakmem_is policy' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is replay' -F
complete -c hakmem -n '__hakmem_is replay' -l allocator -rF -d 'A further library to replay on'
complete -c hakmem -n '__hakmem_is replay' -l peers -d 'Also on the installed allocators'
complete -c hakmem -n '__hakmem_is replay' -l rounds -x -d 'Runs on each allocator'
complete -c hakmem -n '__hakmem_is replay' -l touch -x -d 'What is written to a block that comes: all its pages, its first byte, none'
complete -c hakmem -n '__hakmem_is replay' -l process -x -d 'The Kth process of the trace'
complete -c hakmem -n '__hakmem_is replay' -l build -xa '(__fish_complete_directories)' -d 'Where libhakmem.so and the tools were built'
complete -c hakmem -n '__hakmem_is replay' -l library -rF -d 'Another build of libhakmem.so to run on'
complete -c hakmem -n '__hakmem_is replay' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is sites' -xa '(__hakmem_program)'
complete -c hakmem -n '__hakmem_is sites program' -xa '(__hakmem_program)'
complete -c hakmem -n '__hakmem_is sites' -l trace -rF -d 'Read this trace instead of running a program'
complete -c hakmem -n '__hakmem_is sites' -l least -x -d 'Blocks smaller than that are left out'
complete -c hakmem -n '__hakmem_is sites' -l rows -x -d 'Rows of the table; 0: all'
complete -c hakmem -n '__hakmem_is sites' -l by-depth -d 'A row for each depth of the stack'
complete -c hakmem -n '__hakmem_is sites' -l csv -rF -d 'Write all rows there'
complete -c hakmem -n '__hakmem_is sites' -l build -xa '(__fish_complete_directories)' -d 'Where libhakmem.so and the tools were built'
complete -c hakmem -n '__hakmem_is sites' -l library -rF -d 'Another build of libhakmem.so to run on'
complete -c hakmem -n '__hakmem_is sites' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is stats' -F
complete -c hakmem -n '__hakmem_is stats' -l json -d 'Print JSON'
complete -c hakmem -n '__hakmem_is stats' -l prometheus -d 'Print text for Prometheus, as for its textfile collector'
complete -c hakmem -n '__hakmem_is stats' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is trace' -xa '(__hakmem_program)'
complete -c hakmem -n '__hakmem_is trace program' -xa '(__hakmem_program)'
complete -c hakmem -n '__hakmem_is trace' -l output -s o -rF -d 'Where the trace goes; a trace that is there is replaced, by a complete one'
complete -c hakmem -n '__hakmem_is trace' -l build -xa '(__fish_complete_directories)' -d 'Where libhakmem.so and the tools were built'
complete -c hakmem -n '__hakmem_is trace' -l library -rF -d 'Another build of libhakmem.so to run on'
complete -c hakmem -n '__hakmem_is trace' -l help -s h -d 'Show this message and exit'
