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
set -g __hakmem_commands 'run' 'exec' 'path' 'env' 'doctor' 'stats' 'top' 'explain' 'profile' 'report' 'trace' 'corpus' 'excerpt' 'replay' 'simulate' 'predict' 'sites' 'learn' 'decisions' 'policy' 'bench' 'bench compare' 'bench report' 'bench paper' 'front' 'front report'
set -g __hakmem_values 'run --runs' 'run --stdin' 'run --build' 'run --library' 'exec --mode' 'exec --price' 'exec --set' 'exec --build' 'exec --library' 'path --flavour' 'path --build' 'env --shell' 'env --mode' 'env --price' 'env --set' 'env --build' 'env --library' 'doctor --build' 'doctor --library' 'top --interval' 'explain --pid' 'explain -p' 'profile --output' 'profile -o' 'profile --rows' 'profile --by' 'report --output' 'report -o' 'report --seconds' 'report --file' 'trace --output' 'trace -o' 'trace --build' 'trace --library' 'corpus --output' 'corpus -o' 'corpus --build' 'corpus --library' 'excerpt --output' 'excerpt -o' 'excerpt --events' 'excerpt --bytes' 'excerpt --from' 'excerpt --least' 'excerpt --process' 'replay --allocator' 'replay --rounds' 'replay --touch' 'replay --process' 'replay --build' 'replay --library' 'simulate --price' 'simulate --least' 'simulate --page-ns' 'simulate --call-ns' 'simulate --plot' 'simulate --csv' 'simulate --markdown' 'simulate --most-memory' 'simulate --most-time' 'simulate --build' 'predict --within' 'predict --process' 'predict --reruns' 'predict --csv' 'predict --build' 'sites --trace' 'sites --least' 'sites --rows' 'sites --csv' 'sites --build' 'sites --library' 'learn --output' 'learn -o' 'learn --runs' 'learn --mode' 'learn --build' 'learn --library' 'decisions --replay' 'decisions --plot' 'decisions --last' 'decisions --build' 'bench --set' 'bench --filter' 'bench --runs' 'bench --warmup' 'bench --allocators' 'bench --peer' 'bench --output' 'bench --seconds' 'bench --timeout' 'bench --passes' 'bench --library' 'bench --build' 'bench --trace' 'bench --minutes' 'bench compare --output' 'front --runs' 'front --floors' 'front --programs' 'front --config' 'front --allocators' 'front --peer' 'front --output' 'front -o' 'front --timeout' 'front --library' 'front --build' 'front report --output' 'front report -o'
set -g __hakmem_runners 'run' 'exec' 'doctor' 'trace' 'sites' 'learn'

complete -c hakmem -n '__hakmem_is ' -a run -d 'Run a program on HAKMEM and on glibc, and say what each needed'
complete -c hakmem -n '__hakmem_is ' -a exec -d 'Run a program once on HAKMEM, by becoming it'
complete -c hakmem -n '__hakmem_is ' -a path -d 'Print where the library is'
complete -c hakmem -n '__hakmem_is ' -a env -d 'Print what a shell is to evaluate so that all it starts runs on HAKMEM: eval "$(hakmem env)"'
complete -c hakmem -n '__hakmem_is ' -a doctor -d 'Say whether HAKMEM would serve a program here, and what to change'
complete -c hakmem -n '__hakmem_is ' -a stats -d 'Print what a process counts and holds: why it is as large as it is, the counters, and what is learnt'
complete -c hakmem -n '__hakmem_is ' -a top -d 'Watch a process: why it is as large as it is, what it does in a second, and its learner'
complete -c hakmem -n '__hakmem_is ' -a explain -d 'Say what an address of a running process is: block, class, slab, state, and who asked for it'
complete -c hakmem -n '__hakmem_is ' -a profile -d 'Say who holds memory: by function, or by the stack that asked for it'
complete -c hakmem -n '__hakmem_is ' -a report -d 'Make one HTML page of a heap profile: who holds memory, blocks by size and age, and of a process what RSS is'
complete -c hakmem -n '__hakmem_is ' -a trace -d 'Run a program on HAKMEM and write every call of its allocator to a file'
complete -c hakmem -n '__hakmem_is ' -a corpus -d 'Record traces of real programs anew: a compiler, interpreters, servers, and what draws and proves'
complete -c hakmem -n '__hakmem_is ' -a excerpt -d 'Cut a smaller trace out of a trace: some events of one process, with all its threads'
complete -c hakmem -n '__hakmem_is ' -a replay -d 'Repeat what a traced program asked of malloc, on HAKMEM, glibc and others, and say what each needed'
complete -c hakmem -n '__hakmem_is ' -a simulate -d 'Say what keep times for free memory would have cost the programs of a trace'
complete -c hakmem -n '__hakmem_is ' -a predict -d 'Predict the peak memory, page faults and slow doors of traced programs, and check that by a rerun'
complete -c hakmem -n '__hakmem_is ' -a sites -d 'Say which places in a program ask for memory, and what becomes of it'
complete -c hakmem -n '__hakmem_is ' -a learn -d 'Run a program several times, and keep what was learnt: for how long its big blocks stay when they are free'
complete -c hakmem -n '__hakmem_is ' -a decisions -d 'Say which keep times a process chose anew, and from how many waits; or draw how it learnt'
complete -c hakmem -n '__hakmem_is ' -a policy -d 'Say what a policy holds: for how long each site\'s big blocks stay when they are free'
complete -c hakmem -n '__hakmem_is ' -a bench -d 'Measure HAKMEM beside glibc and every installed peer'
complete -c hakmem -n '__hakmem_is ' -a front -d 'Measure real programs, half of them servers: CPU time against memory over time, HAKMEM at several settings and peers'
complete -c hakmem -n '__hakmem_is ' -l version -d 'Print the version and exit'
complete -c hakmem -n '__hakmem_is ' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is run' -xa '(__hakmem_program)'
complete -c hakmem -n '__hakmem_is run program' -xa '(__hakmem_program)'
complete -c hakmem -n '__hakmem_is run' -l runs -x -d 'Timed runs on each allocator'
complete -c hakmem -n '__hakmem_is run' -l stdin -rF -d 'What every run reads as standard input; - reads this command\'s own first'
complete -c hakmem -n '__hakmem_is run' -l build -xa '(__fish_complete_directories)' -d 'Where libhakmem.so and the tools were built'
complete -c hakmem -n '__hakmem_is run' -l library -rF -d 'Another build of libhakmem.so to run on'
complete -c hakmem -n '__hakmem_is run' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is exec' -xa '(__hakmem_program)'
complete -c hakmem -n '__hakmem_is exec program' -xa '(__hakmem_program)'
complete -c hakmem -n '__hakmem_is exec' -l mode -x -d 'Short for --set mode=MODE'
complete -c hakmem -n '__hakmem_is exec' -l price -x -d 'Short for --set price=PRICE: speed, balanced, lean, or a number'
complete -c hakmem -n '__hakmem_is exec' -l stats -d 'A small parent waits, and says on stderr at the end what it used'
complete -c hakmem -n '__hakmem_is exec' -l profile -d 'The same, and says who holds memory, however the program ends'
complete -c hakmem -n '__hakmem_is exec' -l children -d 'With --profile: a file for each other process that it started, too'
complete -c hakmem -n '__hakmem_is exec' -l set -x -d 'A setting (docs/settings.md)'
complete -c hakmem -n '__hakmem_is exec' -l build -xa '(__fish_complete_directories)' -d 'Where libhakmem.so and the tools were built'
complete -c hakmem -n '__hakmem_is exec' -l library -rF -d 'Another build of libhakmem.so to run on'
complete -c hakmem -n '__hakmem_is exec' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is path' -l flavour -x -d 'preload, static, override, or dl (README.md says what they are)'
complete -c hakmem -n '__hakmem_is path' -l build -xa '(__fish_complete_directories)' -d 'Where libhakmem.so and the tools were built'
complete -c hakmem -n '__hakmem_is path' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is env' -l shell -x -d 'sh, bash, zsh or fish'
complete -c hakmem -n '__hakmem_is env' -l mode -x -d 'Short for --set mode=MODE'
complete -c hakmem -n '__hakmem_is env' -l price -x -d 'Short for --set price=PRICE: speed, balanced, lean, or a number'
complete -c hakmem -n '__hakmem_is env' -l set -x -d 'A setting (docs/settings.md)'
complete -c hakmem -n '__hakmem_is env' -l build -xa '(__fish_complete_directories)' -d 'Where libhakmem.so and the tools were built'
complete -c hakmem -n '__hakmem_is env' -l library -rF -d 'Another build of libhakmem.so to run on'
complete -c hakmem -n '__hakmem_is env' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is doctor' -xa '(__hakmem_program)'
complete -c hakmem -n '__hakmem_is doctor program' -xa '(__hakmem_program)'
complete -c hakmem -n '__hakmem_is doctor' -l json -d 'Print JSON'
complete -c hakmem -n '__hakmem_is doctor' -l build -xa '(__fish_complete_directories)' -d 'Where libhakmem.so and the tools were built'
complete -c hakmem -n '__hakmem_is doctor' -l library -rF -d 'Another build of libhakmem.so to run on'
complete -c hakmem -n '__hakmem_is doctor' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is stats' -F
complete -c hakmem -n '__hakmem_is stats' -l json -d 'Print JSON'
complete -c hakmem -n '__hakmem_is stats' -l prometheus -d 'Print text for Prometheus, as for its textfile collector'
complete -c hakmem -n '__hakmem_is stats' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is top' -l interval -x -d 'How often it is looked at'
complete -c hakmem -n '__hakmem_is top' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is explain' -l pid -s p -x -d 'The process'
complete -c hakmem -n '__hakmem_is explain' -l json -d 'Print JSON'
complete -c hakmem -n '__hakmem_is explain' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is profile' -F
complete -c hakmem -n '__hakmem_is profile' -l output -s o -rF -d 'Write the profile there, named and gzipped, for go tool pprof and the like'
complete -c hakmem -n '__hakmem_is profile' -l leaks -d 'The live blocks by stack, instead of functions'
complete -c hakmem -n '__hakmem_is profile' -l rows -x -d 'So many functions or stacks; 0: all'
complete -c hakmem -n '__hakmem_is profile' -l by -x -d 'Order functions by inuse_space, inuse_objects, alloc_space or alloc_objects'
complete -c hakmem -n '__hakmem_is profile' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is report' -F
complete -c hakmem -n '__hakmem_is report' -l output -s o -rF -d 'Where the page goes'
complete -c hakmem -n '__hakmem_is report' -l seconds -x -d 'For how long a process is watched'
complete -c hakmem -n '__hakmem_is report' -l file -rF -d 'Of a process: where it writes its profile, if it overwrote its environment (as redis does) and that cannot be found out'
complete -c hakmem -n '__hakmem_is report' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is trace' -xa '(__hakmem_program)'
complete -c hakmem -n '__hakmem_is trace program' -xa '(__hakmem_program)'
complete -c hakmem -n '__hakmem_is trace' -l output -s o -rF -d 'Where the trace goes; a trace that is there is replaced, by a complete one'
complete -c hakmem -n '__hakmem_is trace' -l build -xa '(__fish_complete_directories)' -d 'Where libhakmem.so and the tools were built'
complete -c hakmem -n '__hakmem_is trace' -l library -rF -d 'Another build of libhakmem.so to run on'
complete -c hakmem -n '__hakmem_is trace' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is corpus' -l output -s o -xa '(__fish_complete_directories)' -d 'Where the traces go'
complete -c hakmem -n '__hakmem_is corpus' -l force -d 'Replace traces that are there'
complete -c hakmem -n '__hakmem_is corpus' -l list -d 'Only say which programs there are'
complete -c hakmem -n '__hakmem_is corpus' -l build -xa '(__fish_complete_directories)' -d 'Where libhakmem.so and the tools were built'
complete -c hakmem -n '__hakmem_is corpus' -l library -rF -d 'Another build of libhakmem.so to run on'
complete -c hakmem -n '__hakmem_is corpus' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is excerpt' -F
complete -c hakmem -n '__hakmem_is excerpt' -l output -s o -rF -d 'Where the excerpt goes; a trace that is there is replaced'
complete -c hakmem -n '__hakmem_is excerpt' -l events -x -d 'At most so many events'
complete -c hakmem -n '__hakmem_is excerpt' -l bytes -x -d 'At most so many bytes'
complete -c hakmem -n '__hakmem_is excerpt' -l from -x -d 'Leave out what is earlier in the process'
complete -c hakmem -n '__hakmem_is excerpt' -l least -x -d 'Leave out smaller blocks'
complete -c hakmem -n '__hakmem_is excerpt' -l process -x -d 'The Kth process of each trace'
complete -c hakmem -n '__hakmem_is excerpt' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is replay' -F
complete -c hakmem -n '__hakmem_is replay' -l allocator -rF -d 'A further library to replay on'
complete -c hakmem -n '__hakmem_is replay' -l peers -d 'Also on the installed allocators'
complete -c hakmem -n '__hakmem_is replay' -l rounds -x -d 'Runs on each allocator'
complete -c hakmem -n '__hakmem_is replay' -l touch -x -d 'What is written to a block that comes: all its pages, its first byte, none'
complete -c hakmem -n '__hakmem_is replay' -l process -x -d 'The Kth process of each trace'
complete -c hakmem -n '__hakmem_is replay' -l build -xa '(__fish_complete_directories)' -d 'Where libhakmem.so and the tools were built'
complete -c hakmem -n '__hakmem_is replay' -l library -rF -d 'Another build of libhakmem.so to run on'
complete -c hakmem -n '__hakmem_is replay' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is simulate' -F
complete -c hakmem -n '__hakmem_is simulate' -l price -x -d 'What a MiB of idle memory costs a second: speed, balanced (the default), lean, or ns'
complete -c hakmem -n '__hakmem_is simulate' -l least -x -d 'Blocks smaller than that are left out'
complete -c hakmem -n '__hakmem_is simulate' -l page-ns -x -d 'What fetching a page costs'
complete -c hakmem -n '__hakmem_is simulate' -l call-ns -x -d 'What a call of the kernel costs besides'
complete -c hakmem -n '__hakmem_is simulate' -l plot -rF -d 'A folder for what each program pays, drawn as PNG and SVG; with --tune one picture'
complete -c hakmem -n '__hakmem_is simulate' -l csv -rF -d 'Write the figures of each process, or setting, there'
complete -c hakmem -n '__hakmem_is simulate' -l markdown -rF -d 'Write the tables there, too'
complete -c hakmem -n '__hakmem_is simulate' -l tune -d 'Pick the settings that suit the program: by a model of the library'
complete -c hakmem -n '__hakmem_is simulate' -l most-memory -x -d 'With --tune: the least time within that mean memory, or that part of the most'
complete -c hakmem -n '__hakmem_is simulate' -l most-time -x -d 'With --tune: the least memory at that loss, of the recorded time'
complete -c hakmem -n '__hakmem_is simulate' -l build -xa '(__fish_complete_directories)' -d 'Where libhakmem.so and the tools were built'
complete -c hakmem -n '__hakmem_is simulate' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is predict' -F
complete -c hakmem -n '__hakmem_is predict' -l within -x -d 'How far a figure may be from the rerun\'s'
complete -c hakmem -n '__hakmem_is predict' -l process -x -d 'The Kth process of each trace'
complete -c hakmem -n '__hakmem_is predict' -l reruns -x -d 'Reruns of each; what is in the middle counts'
complete -c hakmem -n '__hakmem_is predict' -l csv -rF -d 'Write every figure there, each door\'s too'
complete -c hakmem -n '__hakmem_is predict' -l build -xa '(__fish_complete_directories)' -d 'Where libhakmem.so and the tools were built'
complete -c hakmem -n '__hakmem_is predict' -l help -s h -d 'Show this message and exit'
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
complete -c hakmem -n '__hakmem_is learn' -xa '(__hakmem_program)'
complete -c hakmem -n '__hakmem_is learn program' -xa '(__hakmem_program)'
complete -c hakmem -n '__hakmem_is learn' -l output -s o -rF -d 'The policy; the run goes on from one that is there'
complete -c hakmem -n '__hakmem_is learn' -l runs -x -d 'How often it runs'
complete -c hakmem -n '__hakmem_is learn' -l mode -x -d 'evolving: what is learnt is done at once'
complete -c hakmem -n '__hakmem_is learn' -l build -xa '(__fish_complete_directories)' -d 'Where libhakmem.so and the tools were built'
complete -c hakmem -n '__hakmem_is learn' -l library -rF -d 'Another build of libhakmem.so to run on'
complete -c hakmem -n '__hakmem_is learn' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is decisions' -F
complete -c hakmem -n '__hakmem_is decisions' -l replay -rF -d 'Decide anew from a file of HAKMEM_LAB_LEARN_LOG; with PID|FILE: compare only'
complete -c hakmem -n '__hakmem_is decisions' -l plot -rF -d 'Draw how it was learnt: from files of HAKMEM_LAB_LEARN_LOG (what was paid, arms), its FILE.windows (ratings, phases) and HAKMEM_DECISIONS_FILE (decisions)'
complete -c hakmem -n '__hakmem_is decisions' -l csv -d 'Print them as CSV'
complete -c hakmem -n '__hakmem_is decisions' -l last -x -d 'Only the last N; 0: all'
complete -c hakmem -n '__hakmem_is decisions' -l build -xa '(__fish_complete_directories)' -d 'Where libhakmem.so and the tools were built'
complete -c hakmem -n '__hakmem_is decisions' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is policy' -F
complete -c hakmem -n '__hakmem_is policy' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is bench' -a compare -d 'Say row by row whether HAKMEM became faster or slower from A to B'
complete -c hakmem -n '__hakmem_is bench' -a report -d 'Write table, page and plots anew from the CSV files of a folder'
complete -c hakmem -n '__hakmem_is bench' -a paper -d 'Make every figure and table of docs/report from the CSV files in its folder data'
complete -c hakmem -n '__hakmem_is bench' -l set -x -d 'quick (the default), full, or scaling'
complete -c hakmem -n '__hakmem_is bench' -l filter -x -d 'Only benchmarks with this in the name, or of this group; * and , work'
complete -c hakmem -n '__hakmem_is bench' -l runs -x -d 'Counted runs of each benchmark on each allocator'
complete -c hakmem -n '__hakmem_is bench' -l warmup -x -d 'Runs before them that do not count'
complete -c hakmem -n '__hakmem_is bench' -l allocators -x -d 'Only these, with commas: hakmem,glibc,..'
complete -c hakmem -n '__hakmem_is bench' -l peer -rF -d 'A further library to measure'
complete -c hakmem -n '__hakmem_is bench' -l output -xa '(__fish_complete_directories)' -d 'Where the results go, a folder without results'
complete -c hakmem -n '__hakmem_is bench' -l seconds -x -d 'Time for the repetitions of one process'
complete -c hakmem -n '__hakmem_is bench' -l timeout -x -d 'A process that takes longer is stopped'
complete -c hakmem -n '__hakmem_is bench' -l passes -x -d 'Only these, with commas: twin, time, latency, syscalls, instructions, timeline, limit, worst'
complete -c hakmem -n '__hakmem_is bench' -l library -rF -d 'Another build of libhakmem.so to measure'
complete -c hakmem -n '__hakmem_is bench' -l build -xa '(__fish_complete_directories)' -d 'Where libhakmem.so and the programs were built'
complete -c hakmem -n '__hakmem_is bench' -l trace -rF -d 'A trace that is replayed as a row; alone where no set or filter is named'
complete -c hakmem -n '__hakmem_is bench' -l minutes -x -d 'So long it may take: rounds, then rows that do not fit are left out, which is said; 0: as long as it takes'
complete -c hakmem -n '__hakmem_is bench' -l list -d 'Only say which benchmarks there are'
complete -c hakmem -n '__hakmem_is bench' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is bench compare' -F
complete -c hakmem -n '__hakmem_is bench compare' -l output -rF -d 'Also write the table there, as Markdown'
complete -c hakmem -n '__hakmem_is bench compare' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is bench report' -F
complete -c hakmem -n '__hakmem_is bench report' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is bench paper' -F
complete -c hakmem -n '__hakmem_is bench paper' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is front' -a report -d 'Make tables, plots and verdicts from the rows of a CSV'
complete -c hakmem -n '__hakmem_is front' -l runs -x -d 'Rounds, in which each program runs once on each'
complete -c hakmem -n '__hakmem_is front' -l floors -x -d 'Traced runs of each program, whose mean is its floor'
complete -c hakmem -n '__hakmem_is front' -l programs -x -d 'Only these, with commas; server and batch are all of a kind'
complete -c hakmem -n '__hakmem_is front' -l config -x -d 'HAKMEM with these settings, instead of baseline, and evolving at three prices'
complete -c hakmem -n '__hakmem_is front' -l ablate -d 'HAKMEM only: baseline, evolving, and evolving with each learner (settings learn_...) off alone'
complete -c hakmem -n '__hakmem_is front' -l allocators -x -d 'Only these, with commas: hakmem,glibc,..'
complete -c hakmem -n '__hakmem_is front' -l peer -rF -d 'A further library to measure'
complete -c hakmem -n '__hakmem_is front' -l output -s o -rF -d 'The rows; those that are there already are not measured again'
complete -c hakmem -n '__hakmem_is front' -l timeout -x -d 'A run that takes longer is stopped'
complete -c hakmem -n '__hakmem_is front' -l library -rF -d 'Another build of libhakmem.so to measure'
complete -c hakmem -n '__hakmem_is front' -l build -xa '(__fish_complete_directories)' -d 'Where libhakmem.so and the tools were built'
complete -c hakmem -n '__hakmem_is front' -l list -d 'Only say which programs there are'
complete -c hakmem -n '__hakmem_is front' -l help -s h -d 'Show this message and exit'
complete -c hakmem -n '__hakmem_is front report' -F
complete -c hakmem -n '__hakmem_is front report' -l output -s o -xa '(__fish_complete_directories)' -d 'Where the table and the plots go'
complete -c hakmem -n '__hakmem_is front report' -l help -s h -d 'Show this message and exit'
