# Builds hooked.cc in every way that functions can be recorded, and looks whether the recorded program does what it does otherwise
# (`survive`), or whether the recorded calls are those that it says it made (`sequence`). Prints a line for each build.
#
#	hooked.sh survive|sequence gcc|clang OPTION...
#
# Run by tests/cli/record-hooks-* and record-survives-*, which name SPUR, TESTS and BUILD.
what=$1 compiler=$2
shift 2
[ "$(uname -m)" = x86_64 ] || { echo "not an x86-64 machine" >&2; exit 77; }
[ "$compiler" = gcc ] && cxx=g++ || cxx=clang++
$cxx --version >/dev/null 2>&1 || { echo "$cxx is not installed" >&2; exit 77; }
export SPUR_RECORD_LIBRARY="$BUILD/libspur-record.so"

sequence() {
	"./$1" >said || echo "$1: exit code $?"
	$SPUR record -q --force -o recorded.spur "./$1" >said.recorded || echo "$1: exit code $?"
	cmp said said.recorded
	$SPUR convert --to=chrome -o chrome.json --force recorded.spur 2>errors || cat errors
	echo "$1: $(python3 "$TESTS/record/hooked.py" said <chrome.json)"
}

survive() {
	"./$1" survive >plain || echo "$1: exit code $?"
	$SPUR record -q --force -o recorded.spur "./$1" survive >recorded || echo "$1: exit code $?"
	diff plain recorded >differences && result=same || result=$(cat differences)
	echo "$1: $result, $($SPUR check recorded.spur 2>&1 | sed 's/.*: good: .*/good/')"
}

run() {
	name=$1
	shift
	if $cxx "$@" -w "$TESTS/record/hooked.cc" -o "$name" -pthread 2>errors; then
		$what "$name"
	else
		echo "$name: does not build"
		cat errors
	fi
	rm -rf recorded.spur "$name"
}

run patchable -DNOPS -fpatchable-function-entry=5 "$@"
run mcount -pg "$@"
run called -finstrument-functions "$@"
if [ "$compiler" = gcc ]; then
	run fentry -pg -mfentry "$@"
else
	run sleds -DSLEDS -fxray-instrument -fxray-instruction-threshold=1 "$@"
fi
[ "$what" = sequence ] || run library "$@"
exit 0
