# Runs "$@", and ends it with the signal $0 when standard input ends: when the
# tests have, in whatever way. Then it removes the directory it is in.
trap '' INT TERM HUP
"$@" >log 2>&1 </dev/null &
read -r _
kill -"$0" $!
wait
rm -rf "$PWD"
