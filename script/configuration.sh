# Sourced by script/test and the scripts that use what it builds, in a folder of its own, so that nothing is
# built twice. Optimised, as an app is, which shows what else only a release would: and the simulation
# takes half as long. With assertions, which -O alone leaves out.
configuration=(
  --scratch-path .build-test --traits Server,Rehearsal
  -Xswiftc -O -Xswiftc -assert-config -Xswiftc Debug
)
