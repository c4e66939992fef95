#!/bin/sh
# Builds a program of a Go module in the module's own tree, as `go install` would: the proxy serves some modules of
# which it lists no versions, and `go install` insists on a list. Go leaves a program's version unset unless the
# linker writes it.
#
#   build-module NAME MODULE VERSION COMMAND VARIABLE
set -eu
name=$1 module=$2 version=$3 command=$4 variable=$5
go mod download "$module@v$version"
cp -r "$GOMODCACHE/$module@v$version" /source
chmod -R u+w /source
cd /source
go build -ldflags "-s -w -X $variable=$version" -o "/scanners/$name" "./$command"
rm -rf /source
