#!/bin/sh
# Finds a Chromium for the tests of pages, or installs one: Playwright's own, else the system's.
# Usage: install_browser.sh PLAYWRIGHT
for name in chromium chromium-browser chromium-headless-shell google-chrome; do
    command -v "$name" && exit 0
done
"$1" install --with-deps chromium && exit 0
if command -v apt-get >/dev/null; then
    apt-get update -qq && apt-get install -qq -y chromium && exit 0
fi
echo "The tests of pages need Chromium: install it by hand." >&2
exit 1
