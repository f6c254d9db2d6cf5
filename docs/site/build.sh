#!/bin/sh
# Builds the documents as a site: every warning is an error, such as a link to a page or a heading that does not exist.
#   build.sh TOOLS SITE     TOOLS gets a Python environment with mkdocs from PyPI, SITE the pages
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
tools=$1 site=$2
mkdir -p "$site"
[ -x "$tools/bin/mkdocs" ] || python3 -m venv "$tools"
"$tools/bin/pip" install --quiet --disable-pip-version-check -r "$source/docs/site/requirements.txt"
# Its banner is about releases of mkdocs that are not asked for.
NO_MKDOCS_2_WARNING=1 PYTHONDONTWRITEBYTECODE=1 "$tools/bin/mkdocs" build --config-file "$source/.mkdocs.yml" \
  --site-dir "$(cd "$site" && pwd)"
