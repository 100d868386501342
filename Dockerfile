# Acclaim's image: two static programs, the services and the operator, and their
# license. `make image` writes the same without Docker.
#
#   docker build -t acclaim --build-arg VERSION=1.2.3 --build-arg REVISION="$(git rev-parse HEAD)" \
#     --build-arg CREATED="$(git log -1 --format=%cI)" .

# Programs are cross-compiled, so that this stage never runs under emulation.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
ARG TARGETARCH
ARG VERSION=dev
ARG REVISION=
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/root/.cache/go-build --mount=type=cache,target=/go/pkg/mod \
    go -C hack/image run . acclaim --architecture=${TARGETARCH:-$(go env GOARCH)} \
        --version="$VERSION" --revision="$REVISION" --root=/root-of-image

FROM scratch
ARG VERSION=dev
ARG REVISION=
ARG CREATED=
LABEL org.opencontainers.image.title="Acclaim" \
      org.opencontainers.image.description="A self-hosted backend for streaming-platform extensions" \
      org.opencontainers.image.source="https://github.com/acclaim-dev/acclaim" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.created="$CREATED"
COPY --from=build /root-of-image/LICENSE /root-of-image/acclaim /root-of-image/operator /
# The embedded store uses the only folder that the user can write to.
COPY --from=build --chown=65532:65532 /root-of-image/data /data
USER 65532:65532
WORKDIR /data
ENTRYPOINT ["/acclaim"]
