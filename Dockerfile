# The two servers as small images. Configuration comes as files and as SVC__SECTION__KEY variables:
#
#   docker build -t api-server .
#   docker run -p 8402:8402 -v ledger:/var/lib/api-server -v ./api-server.toml:/etc/api-server.toml:ro api-server
#   docs/deploy/compose.yaml runs two of them on one database.
#
#   docker build -t mcp-server --target mcp-server .
#   docker run -p 8403:8403 --read-only -v ./mcp-server:/etc/mcp-server:ro mcp-server

FROM rust:1.95.0-bookworm AS source
WORKDIR /src
COPY Cargo.toml Cargo.lock ./
COPY .cargo .cargo
COPY bins bins
COPY crates crates
# Examples and pages that the programs carry.
COPY docs docs
COPY fixtures fixtures

# As they are shipped, without the demo. One package at a time: built together, each would get the
# other's features of what they share.
FROM source AS build-mcp-server
RUN cargo build --profile dist --no-default-features --locked -p mcp-server

FROM source AS build-api-server
RUN cargo build --profile dist --no-default-features --locked -p api-server

FROM debian:12.12-slim AS base
# Root certificates: the clients of upstreams, facilitators and RPC endpoints use those of the system.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin server
COPY LICENSE-MIT LICENSE-APACHE /usr/share/doc/server/
STOPSIGNAL SIGTERM

FROM base AS mcp-server
COPY --from=build-mcp-server /src/target/dist/mcp-server /usr/local/bin/mcp-server
USER 10001
ENV SVC__SERVER__LISTEN=0.0.0.0:8403
EXPOSE 8403
ENTRYPOINT ["/usr/local/bin/mcp-server"]
CMD ["serve", "--config", "/etc/mcp-server/mcp-server.toml"]

FROM base AS api-server
RUN install --directory --owner=server --group=server --mode=0700 /var/lib/api-server
COPY --from=build-api-server /src/target/dist/api-server /usr/local/bin/api-server
USER 10001
WORKDIR /var/lib/api-server
VOLUME /var/lib/api-server
# The ledger's address is the configuration's. Its default, data/service.db, is in the volume.
ENV SVC__SERVER__LISTEN=0.0.0.0:8402
EXPOSE 8402
ENTRYPOINT ["/usr/local/bin/api-server"]
CMD ["serve", "--config", "/etc/api-server.toml"]
