#!/bin/sh
# Sees to it that the browser tests find a Chromium: Playwright's own where it can be downloaded, else the system's.
# Usage: install_browser.sh PLAYWRIGHT
set -u

if [ "$(id -u)" = 0 ]; then sudo=; else sudo=sudo; fi
if "$1" install chromium 2>/dev/null; then
    "$1" install-deps chromium || true  # they are often there, and not everybody may install them
    exit 0
fi
echo "Playwright cannot download its Chromium here; taking the system's."
for name in chromium-headless-shell chromium chromium-browser google-chrome; do
    command -v "$name" >/dev/null && exit 0
done
if command -v apt-get >/dev/null; then
    $sudo apt-get update -qq && $sudo apt-get install -qq --yes chromium-headless-shell >/dev/null && exit 0
elif command -v dnf >/dev/null; then
    $sudo dnf install --quiet --assumeyes chromium && exit 0
fi
echo "No Chromium could be installed. Install one, and run make test again." >&2
exit 1
