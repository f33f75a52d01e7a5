# Sourced by the scripts that build. There are two forms, and whatever is built in one serves all that use it.

# For working: a debug build, in which what tests run most is optimised, file by file (TERN_OPTIMISED in Package.swift,
# and script/swiftc); a change is built in seconds. script/test and script/demo.
debugging=(--scratch-path .build --traits Server,Rehearsal -debug-info-format none)

# Tern as apps ship it, with assertions; the tests themselves are not optimised (Package.swift). script/test --all,
# script/sim, script/api, script/pages and script/crash.
configuration=(
  --scratch-path .build-test --configuration release --traits Server,Rehearsal -debug-info-format none
  -Xswiftc -enable-testing -Xswiftc -assert-config -Xswiftc Debug
)

# The packages whose tests are run, by their folders.
packages=(. Examples)

# Has a script stand in for the compiler. SwiftPM looks for that one's libraries beside it.
use_compiler() {
  local compilers beside=$PWD/${configuration[1]}/compilers
  compilers=$(dirname "$(readlink -f "$(command -v swiftc)")")
  mkdir -p "$beside"
  ln -sfn "$compilers/../lib" "$beside/../lib"
  cmp -s "$1" "$beside/swiftc" || cp "$1" "$beside/swiftc"
  export SWIFT_EXEC=$beside/swiftc SWIFT_EXEC_MANIFEST=$compilers/swiftc
}

# What SwiftPM calls the tests of a package.
tests_of() {
  case $1 in
    .) echo ternPackageTests ;;
    Examples) echo tern-examplesPackageTests ;;
  esac
}

# The examples' package asks Tern for the same traits in the same order, and finds Tern compiled (Docs/Design/0037).

# SwiftPM hands traits to the compiler in the order of a set, which differs from process to process unless it is
# told otherwise: then whatever is planned anew is compiled anew, all of Tern.
swift_build() {
  # A newer compiler may warn of more, which is nothing to a person who tries the demo.
  case $(swift --version 2>&1) in *'version 6.3'*) export TERN_STRICT=1 ;; esac
  if [ -z "${SWIFT_EXEC-}" ] && [[ ${configuration[*]} != *release* ]]; then use_compiler script/swiftc; fi
  TERN_OPTIMISED=1 SWIFT_DETERMINISTIC_HASHING=1 swift build "${configuration[@]}" "$@"
}

# The same of one of the packages. Of the traits the last list counts; the examples always ask Tern for its server.
build_package() {
  local package=$1
  shift
  case $package in
    .) swift_build "$@" ;;
    Examples) swift_build --package-path Examples --traits Rehearsal "$@" ;;
  esac
}
