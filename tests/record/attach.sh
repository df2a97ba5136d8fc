# Records a program while it runs, in several builds: attach.sh CC WAY... Says what the program says of itself, and the calls that it made
# while it was recorded.
[ "$(uname -m)" = x86_64 ] || { echo "not an x86-64 machine" >&2; exit 77; }
export SPUR_RECORD_LIBRARY=$BUILD/libspur-record.so
cc=$1; shift
$cc --version >/dev/null 2>&1 || { echo "$cc is missing" >&2; exit 77; }
for way; do
	case $way in
	patchable) flags=-fpatchable-function-entry=5;;
	no-pie) flags="-fpatchable-function-entry=5 -no-pie";;
	fentry) flags="-pg -mfentry";;
	mcount) flags=-pg;;
	called) flags=-finstrument-functions;;
	sleds) flags="-fxray-instrument -fxray-instruction-threshold=1";;
	plain) flags=;;
	esac
	$cc -O2 -w $flags "$TESTS/record/attach.c" -o "$way" -pthread -ldl || exit 1
	echo "$way:"
	lazy=; [ "$way" = no-pie ] && lazy=--lazy
	python3 "$TESTS/record/attach.py" "$SPUR" "./$way" "$way.spur" $lazy || exit $?
	$SPUR check "$way.spur" | sed 's/: good.*/: good/'
	$SPUR report --csv -f calls,function "$way.spur" | grep -E 'marked|a64l' | sort -t, -k2
done
