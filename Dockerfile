# The operator's image: the operator, and beside it the interpreter that runs programs of code mode and the uv that installs packages. The test
# cluster makes the same one without a container engine: tests/cluster/operator-image takes the build command, paths, user and entry point from
# this file.
# A release gives the bases by their digests, which scripts/image-digests asks for.
ARG INSTALLER_BASE=docker.io/library/python:3.13-slim-bookworm
ARG BUILD_BASE=docker.io/library/rust:1.95.0-bookworm
ARG BASE=gcr.io/distroless/cc-debian12:nonroot

# uv: the program of its wheel, by digest.
FROM ${INSTALLER_BASE} AS installer
COPY scripts/uv /scripts/uv
RUN /scripts/uv /uv

FROM ${BUILD_BASE} AS build
WORKDIR /source
COPY . .
RUN cargo build --locked --release --workspace --bin codegen-operator --bin codegen-interpreter

FROM ${BASE}
COPY --from=build /source/target/release/codegen-operator /usr/bin/codegen-operator
COPY --from=build /source/target/release/codegen-interpreter /usr/bin/codegen-interpreter
COPY --from=installer /uv /usr/bin/uv
USER 65532:65532
ENTRYPOINT ["/usr/bin/codegen-operator"]
