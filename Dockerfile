# The operator's image: the operator, and beside it the interpreter that runs programs of code mode and the uv that installs packages. The test
# cluster makes the same one without a container engine: tests/cluster/operator-image takes the build command, paths, user and entry point from
# this file.

# uv: the program of its wheel, by digest.
FROM docker.io/library/python:3.13-slim-bookworm AS installer
COPY scripts/uv /scripts/uv
RUN /scripts/uv /uv

FROM docker.io/library/rust:1.95.0-bookworm AS build
WORKDIR /source
COPY . .
RUN cargo build --locked --release --workspace --bin codegen-operator --bin codegen-interpreter

FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /source/target/release/codegen-operator /usr/bin/codegen-operator
COPY --from=build /source/target/release/codegen-interpreter /usr/bin/codegen-interpreter
COPY --from=installer /uv /usr/bin/uv
USER 65532:65532
ENTRYPOINT ["/usr/bin/codegen-operator"]
