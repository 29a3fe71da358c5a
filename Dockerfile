# The API server as a small image. Configuration comes as a file and as SVC__SECTION__KEY variables:
#
#   docker build -t api-server .
#   docker run -p 8402:8402 -v ledger:/var/lib/api-server -v ./api-server.toml:/etc/api-server.toml:ro api-server

FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY Cargo.toml Cargo.lock ./
COPY .cargo .cargo
COPY bins bins
COPY crates crates
COPY fixtures fixtures
RUN cargo build --release --locked -p api-server

FROM debian:bookworm-slim
# Root certificates: the clients of upstreams, facilitators and RPC endpoints use those of the system.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin api-server \
    && install --directory --owner=api-server --group=api-server --mode=0700 /var/lib/api-server
COPY --from=build /src/target/release/api-server /usr/local/bin/api-server
COPY LICENSE-MIT LICENSE-APACHE /usr/share/doc/api-server/
USER 10001
WORKDIR /var/lib/api-server
VOLUME /var/lib/api-server
ENV SVC__SERVER__LISTEN=0.0.0.0:8402 \
    SVC__STORAGE__URL=sqlite:///var/lib/api-server/service.db
EXPOSE 8402
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/local/bin/api-server"]
CMD ["serve", "--config", "/etc/api-server.toml"]
