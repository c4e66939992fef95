#!/bin/sh
# Runs the program of an image as its task does: as the image's user, on a root file system that can't be written to,
# with a scratch folder, and without any capability. In namespaces of its own, so that nothing is left behind.
#
#   run-in-image.sh ROOT USER ENVIRONMENT-FILE PROGRAM…     the task's own variables are those of this process
set -eu
root=$1 user=$2 environment=$3
shift 3
if [ "${INSIDE:-}" != 1 ]; then
  INSIDE=1 exec unshare --mount --pid --fork --kill-child "$0" "$root" "$user" "$environment" "$@"
fi
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t tmpfs -o "size=2g,mode=700,uid=${user%:*},gid=${user#*:}" scratch "$root/scratch"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -o remount,bind,ro "$root"
set -- /usr/bin/setpriv --no-new-privs -- "$@"
# Of the environment what the image says, and what the task adds: nothing of this machine's.
set -- ORG_ID="${ORG_ID:-}" RUN_ID="${RUN_ID:-}" RUN_CLAIM="${RUN_CLAIM:-}" RUNNER_API_URL="${RUNNER_API_URL:-}" "$@"
while IFS= read -r line; do set -- "$line" "$@"; done < "$environment"
cd "$root"
exec chroot --userspec="$user" --groups= "$root" /usr/bin/env --chdir=/scratch -i "$@"
