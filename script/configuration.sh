# Sourced by script/test and the scripts that use what it builds, in a folder of its own, so that nothing is
# built twice. Tern is optimised, as in an app, with assertions; the tests themselves are not (Package.swift).
configuration=(
  --scratch-path .build-test --configuration release --traits Server,Rehearsal
  -Xswiftc -enable-testing -Xswiftc -assert-config -Xswiftc Debug
)

# SwiftPM hands traits to the compiler in the order of a set, which differs from process to process unless it is
# told otherwise: then whatever is planned anew is compiled anew, all of Tern.
swift_build() {
  SWIFT_DETERMINISTIC_HASHING=1 swift build "${configuration[@]}" "$@"
}
