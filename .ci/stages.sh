# Sourced by run and prove: stages with a name, their seconds, and a table at
# the end, also when one has failed.

stage_names=()
stage_seconds=()
stage_results=()

# stage NAME COMMAND... runs a command and notes how it went. It returns the
# command's result.
stage() {
	local name=$1 from=$SECONDS result=0
	shift
	printf '\n=== %s: %s\n' "$name" "$*"
	"$@" || result=$?
	stage_names+=("$name")
	stage_seconds+=($((SECONDS - from)))
	if [ "$result" -eq 0 ]; then
		stage_results+=(ok)
	else
		stage_results+=("FAILED ($result)")
		printf '\n=== %s failed with %d\n' "$name" "$result"
	fi
	return "$result"
}

# table prints what stage has noted.
table() {
	local i
	printf '\n%-10s %8s  %s\n' stage seconds result
	for i in "${!stage_names[@]}"; do
		printf '%-10s %8d  %s\n' "${stage_names[i]}" "${stage_seconds[i]}" "${stage_results[i]}"
	done
	printf '%-10s %8d\n' total "$SECONDS"
}
