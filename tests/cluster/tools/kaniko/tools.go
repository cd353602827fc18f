//go:build tools

package tools

import _ "github.com/GoogleContainerTools/kaniko/cmd/executor"
