#!/bin/sh
# Write the tree of a Docker Space of Hugging Face: deploy/space.sh DIR
# DIR is new, or a clone of the Space, whose .git stays.
set -eu

space=${1:?"Name a folder: make space DIR=../my-space"}
cd "$(dirname "$0")/.."

if [ -e "$space" ] && [ -n "$(ls -A "$space")" ] && ! grep -qs '^sdk: docker$' "$space/README.md"; then
    echo "$space has other files, and is not a Docker Space. Name a new folder, or a clone of a Space." >&2
    exit 1
fi
mkdir -p "$space"
rm -rf "$space/clsviz" "$space/.streamlit"
cp -R app.py requirements.txt .streamlit clsviz "$space"
find "$space/clsviz" -name __pycache__ -prune -exec rm -rf {} +
cp deploy/space.md "$space/README.md"
{
    cat deploy/Dockerfile
    cat <<END
# A Space is a frame in another site, behind one proxy of Hugging Face.
ENV CLSVIZ_LIMIT_EMBEDDERS=https://huggingface.co \\
    CLSVIZ_LIMIT_PROXIES=1 \\
    FORWARDED_ALLOW_IPS=* \\
    STREAMLIT_SERVER_XSRF_COOKIE_SAME_SITE=none
END
} >"$space/Dockerfile"
echo "$space is ready to push: deploy/README.md says how."
