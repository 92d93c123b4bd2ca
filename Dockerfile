# Two stages: the toolchain builds a binary that carries Swift's own libraries in it, and a slim
# Debian runs it with just the C libraries it is linked against. scripts/check-dockerfile builds
# this very file on a machine without a Docker engine; docs/testing.md says how far that goes.

FROM swift:6.3-bookworm AS build

RUN apt-get update \
 && apt-get install --yes --no-install-recommends \
      libcurl4-openssl-dev \
      libpq-dev \
      libsqlite3-dev \
      libssl-dev \
      pkg-config \
      zlib1g-dev \
 && rm -rf /var/lib/apt/lists/*

WORKDIR /src
COPY Package.swift ./
COPY Sources ./Sources
# SwiftPM reads the whole manifest, and that names the test targets and an example, too.
COPY Tests ./Tests
COPY examples ./examples

# Nothing in the final image reads what a debugger needs, and it would be more than half of the binary.
RUN swift build -c release --static-swift-stdlib -debug-info-format none --product waystation \
 && install -D -m 0755 .build/release/waystation /out/waystation


FROM debian:bookworm-slim

RUN apt-get update \
 && apt-get install --yes --no-install-recommends \
      ca-certificates \
      libcurl4 \
      libpq5 \
      libsqlite3-0 \
      libssl3 \
 && rm -rf /var/lib/apt/lists/*

# A fixed number, so that a volume's owner is the same on every host and after every rebuild.
RUN groupadd --system --gid 10001 waystation \
 && useradd --system --uid 10001 --gid 10001 --no-create-home --home-dir /var/lib/waystation \
      --shell /usr/sbin/nologin waystation \
 && install -d -m 0750 -o waystation -g waystation /var/lib/waystation

COPY --from=build /out/waystation /usr/local/bin/waystation

ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="waystation" \
      org.opencontainers.image.description="An HTTP store-and-forward relay: durable, in order, at least once" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.licenses="Apache-2.0"

USER 10001:10001
VOLUME /var/lib/waystation
EXPOSE 8080

# The relay drains on SIGTERM: give it longer than its own grace period of 30 s before a SIGKILL.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 \
  CMD ["waystation", "health"]

# It does not start until it is told who may use it (WAYSTATION_OPERATORS, or a file with "access"),
# or that anybody may who can reach it (WAYSTATION_ANONYMOUS=allow).
ENTRYPOINT ["waystation"]
CMD ["serve", "--listen", "0.0.0.0:8080", "--data", "/var/lib/waystation"]
