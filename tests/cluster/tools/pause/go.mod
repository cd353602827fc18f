module codegen-operator/tests/cluster/tools/pause

go 1.24.0
