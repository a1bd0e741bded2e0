#!/usr/bin/env bash
# Build and test the Swift package: `make test-swift`. Without `swift` on the path, root on Debian gets Debian 13 with Swift into a folder of its
# own, once (3.5 GB; RETVEC_SWIFT names another place). Where that cannot be done, it says what is missing.
set -euo pipefail
cd "$(dirname "$0")/../.."

python=${1:-.venv/bin/python}
debian=${RETVEC_SWIFT:-${XDG_CACHE_HOME:-$HOME/.cache}/retvec-lite/swift-on-debian-13}
skip() { echo "Skipped the Swift tests: $1." >&2; exit 0; }

if command -v swift >/dev/null; then
	outside=$PWD/build/swift inside=$PWD/build/swift
	mkdir -p "$outside"
else
	[ "$(id -u)" = 0 ] && [ "$(uname -s)" = Linux ] || skip "there is no swift, and only root on Debian can get it"
	unshare --mount true 2>/dev/null || skip "there is no swift, and this machine lets no process mount anything"
	mkdir -p "$(dirname "$debian")"
	exec 9>"$debian.lock" && flock 9
	if [ ! -e "$debian/.complete" ]; then
		command -v debootstrap >/dev/null || { apt-get update -qq && apt-get install -y -qq debootstrap; } >/dev/null 2>&1 || skip "debootstrap cannot be installed"
		[ "$(df --output=avail -k "$(dirname "$debian")" | tail -1)" -gt 5000000 ] || skip "Debian 13 with Swift needs 5 GB of disk"
		# What was downloaded stays until all is there, so that the next try is shorter.
		rm -rf --one-file-system "$debian"
		mkdir -p "$debian.packages"
		timeout "${RETVEC_SWIFT_PATIENCE:-170}" unshare --mount debootstrap --cache-dir="$debian.packages" --variant=minbase \
			--include=swiftlang,libc6-dev,libstdc++-14-dev,libssl-dev,git trixie "$debian" >"$debian.log" 2>&1 ||
			skip "Debian 13 with Swift was not there in ${RETVEC_SWIFT_PATIENCE:-170} seconds, see $debian.log; RETVEC_SWIFT_PATIENCE=900 waits longer"
		rm -rf "$debian.packages" "$debian"/var/cache/apt/archives/*.deb
		touch "$debian/.complete"
	fi
	outside=$debian/retvec-lite inside=/retvec-lite
	mkdir -p "$outside"
fi

# A copy, so that nothing is built in the checkout; what was built before stays.
find "$outside" -mindepth 1 -maxdepth 1 ! -name '.build*' ! -name packages -exec rm -rf {} +
mkdir "$outside/tests"
cp -rp engine golden swift "$outside"
cp -rp tests/data "$outside/tests/data"
cp -p swift/Linux/Package.swift "$outside"

cat >"$outside/run" <<-END
	set -e
	cd $inside
	export RETVEC_EVALUATOR=$inside RETVEC_COREML=$inside/packages/plain:$inside/packages/several:$inside/packages/unknown
	swift test
	cd release/examples/swift  # the archive of a release, in which a program is built
	swift build --quiet --scratch-path $inside/.build-release
	$inside/.build-release/debug/classify $inside/golden/plain.retvec <$inside/release/texts >$inside/release/answers
END
if [ "$inside" = "$outside" ]; then
	set -- sh "$outside/run"
else
	set -- unshare --mount --pid --fork sh -ec "mount -t proc proc $debian/proc; mount --rbind /dev $debian/dev; chroot $debian sh $inside/run"
fi
exec "$python" tests/support/swift_check.py "$outside" "$@"
