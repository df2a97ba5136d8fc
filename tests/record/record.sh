#!/bin/sh
# Builds the programs of this directory with gcc and clang, records them with the installed uftrace (0.13 or newer, x86-64),
# and puts the data into ../golden/uftrace/own-CASE/in. Times and addresses differ from run to run: record anew only what has
# to change, then look at what `tests/run --set-exact golden/uftrace/own-CASE` wrote.
#
#	record.sh [CASE...]
set -eu

here=$(cd "$(dirname "$0")" && pwd)
golden=$here/../golden/uftrace
work=${TMPDIR:-/tmp}/spur-record
wanted=" $* "
rm -rf "$work"
mkdir -p "$work/other"
cp "$here"/*.c "$here"/*.cpp "$work"
cd "$work"

# rec CASE COMPILER-AND-FLAGS PROGRAM-WITH-ARGUMENTS [RECORD-OPTIONS...]
rec() {
	name=$1 build=$2 program=$3
	shift 3
	[ "$wanted" = "  " ] || [ "${wanted#* $name }" != "$wanted" ] || return 0
	binary=${program%% *}
	source=$(ls "$binary".c*)
	# shellcheck disable=SC2086
	$build -o "$binary" "$source" -pthread -ldl
	# shellcheck disable=SC2086
	uftrace record --no-pager "$@" -d "$name.data" ./$program >"$name.log" 2>&1 || echo "$name: exit code $?"
	mkdir -p "$golden/own-$name"
	python3 "$here/trim.py" "$name.data" "$golden/own-$name/in"
	echo "$name: $(du -sb "$golden/own-$name/in" | cut -f1) bytes"
}

plugins() {
	gcc -pg -g -fPIC -shared -DWHICH=one -o libone.so plugin.c
	gcc -pg -g -fPIC -shared -DWHICH=uno -o other/libone.so plugin.c
	gcc -pg -g -fPIC -shared -DWHICH=two -o libtwo.so plugin.c
}

pg='gcc -pg -g -O1 -fno-inline'
plugins
rec words "$pg" 'words 6'
rec words-auto "$pg" 'words 1' -a
rec words-events "$pg" 'words 1' -W cpu -T split_block@read=proc/statm -T merge_tables@read=page-fault
rec words-depth "$pg" 'words 2' -D 2
rec words-time "$pg" 'words 2' -t 5us
rec words-filter "$pg" 'words 1' -F worker -N hash_word
rec words-nolib "$pg" 'words 1' --no-libcall
rec words-estimate "$pg" 'words 1' --estimate-return
rec words-srcline "$pg" 'words 1' --srcline
rec words-clang "clang -pg -g -O1 -fno-inline" 'words 1'
rec words-fentry "$pg -mfentry" 'words 1'
rec words-nop "$pg -mfentry -mnop-mcount -fno-pic -no-pie" 'words 1' -P .
rec words-pfe "gcc -g -O1 -fno-inline -fpatchable-function-entry=5" 'words 1' -P .
rec words-plain "gcc -g -O1 -fno-inline" 'words 1' -P .
rec words-cyg "clang -g -O1 -fno-inline -finstrument-functions" 'words 1'
rec words-xray "clang -g -O1 -fno-inline -fxray-instrument -fxray-instruction-threshold=1" 'words 1' -P .
rec compare-before "$pg -DWORK=2000" compare
rec compare-after "$pg -DWORK=6000" compare
rec deep "gcc -pg -g -O0" 'deep 1040' --max-stack=2000
rec cxx "g++ -pg -g -O0" cxx
rec cxx-auto "g++ -pg -g -O0" cxx -a
rec names "g++ -pg -g -O0" names
rec cxx-clang "clang++ -pg -g -O0" cxx
rec spawn "gcc -pg -g -O0" spawn
rec plug "gcc -pg -g -O0" plug
rec plug-nested "gcc -pg -g -O0" plug --nest-libcall
rec args-auto "gcc -pg -g -O0" args -a
rec args-auto-clang "clang -pg -g -O0" args -a
rec args-spec "gcc -pg -g -O0" args \
	-A 'ints@arg1/i8,arg2/i16,arg3/d32,arg4/x64;unsigneds@arg1/u8,arg2/u16,arg3/u32,arg4/x64' \
	-A 'text@arg1/s,arg2/c;floats@fparg1/32,fparg2/64;wide@fparg1/80%stack+1;paint@arg1/d32,arg2/x32' \
	-A 'pointer@arg1/p,arg2/p;many@arg1/i32,arg2/i32,arg3/i32,arg4/i32,arg5/i32,arg6/i32,arg7/i32,arg8/i32;truth@arg1/u8' \
	-R 'ints@retval/i32;unsigneds@retval/x;text@retval/s;floats@retval/f64;paint@retval/d32;pointer@retval/p;many@retval'
rec args-regex "gcc -pg -g -O0" args -A '^t@arg1/s' -A 's$@arg1/i32,arg2' -R '.@retval/x'
rec args-glob "gcc -pg -g -O0" args --match=glob -A 't*@arg1/s' -R '*s@retval'
rec signals "gcc -pg -g -O0" signals
rec busy "gcc -pg -g -O1" 'busy 20' --no-event
