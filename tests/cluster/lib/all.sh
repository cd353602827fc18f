# shellcheck shell=bash
# Every part, in the order in which they use each other.
parts="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
for part in common choose prerequisites tools images node certificates registries control-plane worker addons cleanup own kind environment; do
  # shellcheck source=/dev/null
  . "$parts/$part.sh"
done
