# The operator's image. The test cluster makes the same one without a container engine: tests/cluster/operator-image takes the build
# command, path, user and entry point from this file.
FROM docker.io/library/rust:1.95.0-bookworm AS build
WORKDIR /source
COPY . .
RUN cargo build --locked --release --bin codegen-operator

FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /source/target/release/codegen-operator /usr/bin/codegen-operator
USER 65532:65532
ENTRYPOINT ["/usr/bin/codegen-operator"]
