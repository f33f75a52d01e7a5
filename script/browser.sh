# Sourced by the scripts that drive pages, which have sourced packages.sh and configuration.sh.

# Installs a browser, what drives it, and what the pages' programs use. `driver` is the Python that drives then. Ends with
# status 69 where the browser or its driver can't be installed.
install_driver() {
  install_packages "${libraries[@]}" python3-venv graphicsmagick tesseract-ocr zbar-tools apertium apertium-eng-spa \
    apertium-fr-es espeak-ng pocketsphinx pocketsphinx-en-us
  install_packages chromium fonts-dejavu fonts-noto-core fonts-noto-cjk fonts-noto-color-emoji || exit 69
  local tool=$PWD/.build-test/pages/driver
  driver=$tool/bin/python
  if ! [ -x "$driver" ] || ! "$driver" -c 'import axe_playwright_python, playwright' 2>/dev/null; then
    { mkdir -p "${tool%/*}" && python3 -m venv "$tool" \
      && "$tool/bin/pip" install -q playwright==1.65.2 axe-playwright-python==0.1.8; } >&2 || exit 69
  fi
}

# Builds products, each with its package, such as Examples:scan. `built` are the programs then. PROGRAMS names a folder of
# programs in place of those that are built.
build_products() {
  local product folder=${PROGRAMS-}
  [ -n "$folder" ] || folder=$(swift_build --show-bin-path)
  built=()
  for product in "$@"; do
    if [ -z "${PROGRAMS-}" ]; then build_package "${product%:*}" --quiet --product "${product#*:}"; fi
    built+=("$folder/${product#*:}")
  done
}
