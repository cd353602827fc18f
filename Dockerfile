# The operator's image: the operator, and beside it the interpreter that runs programs of code mode. The test cluster makes the same one without
# a container engine: tests/cluster/operator-image takes the build command, paths, user and entry point from this file.
FROM docker.io/library/rust:1.95.0-bookworm AS build
WORKDIR /source
COPY . .
RUN cargo build --locked --release --workspace --bin codegen-operator --bin codegen-interpreter

FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /source/target/release/codegen-operator /usr/bin/codegen-operator
COPY --from=build /source/target/release/codegen-interpreter /usr/bin/codegen-interpreter
USER 65532:65532
ENTRYPOINT ["/usr/bin/codegen-operator"]
