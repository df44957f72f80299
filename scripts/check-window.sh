#!/usr/bin/env bash
# Opens the viewer in a real window on a display in memory, sends it keys and clicks, resizes and hides the window, takes the
# device away, and fails if the program does not live through it. Leaves pictures of the window to be looked at.
#
#   scripts/check-window.sh [FOLDER FOR THE PICTURES]
#
# Needs, as Debian calls them: xvfb openbox xdotool x11-utils imagemagick libxkbcommon-x11-0 libxcursor1 libxi6 libxrandr2

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v cargo >/dev/null || PATH=$HOME/.cargo/bin:$PATH
target=$(cargo metadata --format-version 1 --no-deps --locked | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
out=${1:-$target/window}
mkdir -p "$out"
for program in Xvfb openbox xdotool xwininfo import; do
    command -v "$program" >/dev/null || { echo "missing: $program" >&2; exit 3; }
done

cargo build --release --package broadsweep-viewer --locked

# The server says which display it has taken.
display_file=$(mktemp)
Xvfb -displayfd 3 -screen 0 1280x900x24 3>"$display_file" 2>/dev/null &
server=$!
trap 'kill "$server" 2>/dev/null; rm -f "$display_file"' EXIT
for _ in $(seq 50); do
    [ -s "$display_file" ] && break
    sleep 0.1
done
DISPLAY=:$(cat "$display_file")
export DISPLAY
openbox 2>/dev/null &
sleep 1

log=$out/log.txt
"$target/release/viewer" pile --n 3000 --size 1000x700 2>"$log" &
viewer=$!

title() {
    xwininfo -root -tree | sed -n 's/.*"\(broadsweep: [^"]*\)".*/\1/p' | head -n 1
}

# Waits until the title is like this.
await() {
    for _ in $(seq 300); do
        if title | grep -Eq "$1"; then
            printf '%-44s %s\n' "$2" "$(title)"
            return
        fi
        kill -0 "$viewer" 2>/dev/null || { echo "FAILED: $2: the program has ended" >&2; cat "$log" >&2; exit 1; }
        sleep 0.1
    done
    echo "FAILED: $2: the title is '$(title)'" >&2
    exit 1
}

picture() {
    sleep 1
    import -window root "$out/$1.png"
}

await '3,000 boxes, [0-9,]+ pairs' 'the first pairs'
window=$(xdotool search --name '^broadsweep' | tail -n 1)
xdotool windowfocus "$window"
picture pile
xdotool key g
picture grid
xdotool key g
xdotool key s mousemove --window "$window" 620 380
picture sphere
xdotool key s mousemove --window "$window" 640 400 click 1
picture picked
xdotool key 4
await '3,001 boxes, [0-9,]+ pairs' 'robots'
picture robots
xdotool key 2
await '3,000 boxes, [0-9,]+ pairs' 'clusters'
xdotool key minus
await '1,500 boxes, [0-9,]+ pairs' 'half as many'
xdotool key 3 plus plus
await '6,000 boxes, [0-9,]+ pairs' 'a city of four times as many'
xdotool mousemove --window "$window" 700 300 mousedown 1 mousemove --window "$window" 560 360 mouseup 1 click 4 click 4
for key in a a e l l bracketleft bracketright c t h space period k space h; do
    xdotool key "$key"
    sleep 0.2
done
picture city
for size in '500 400' '1200 820' '120 60' '900 600'; do
    # shellcheck disable=SC2086
    xdotool windowsize "$window" $size
    sleep 0.4
done
# Frames go on: what is asked now is seen.
xdotool key plus
await '12,000 boxes, [0-9,]+ pairs' 'resized'
xdotool windowminimize "$window"
sleep 1.5
xdotool windowactivate "$window"
sleep 0.5
xdotool windowfocus "$window" key minus
await '6,000 boxes, [0-9,]+ pairs' 'minimised, and shown again'
xdotool windowfocus "$window" key 2
await '6,000 boxes, [0-9]{2},[0-9]+ pairs' 'clusters of as many'
xdotool key F9
sleep 2
grep -q 'the device is lost' "$log" || { echo "FAILED: the device was not lost" >&2; exit 1; }
xdotool key minus
await '3,000 boxes, [0-9,]+ pairs' 'on another device'
picture again
xdotool key Escape
status=0
wait "$viewer" || status=$?
[ "$status" = 0 ] || { echo "FAILED: the program ended with $status" >&2; cat "$log" >&2; exit 1; }
echo "lived through all of it; pictures in $out"
